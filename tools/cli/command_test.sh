# shellcheck shell=bash
# test: what must pass before a change lands.

# shellcheck source=tools/cli/mutation.sh
source "$CLI/mutation.sh"
# shellcheck source=tools/cli/exporter.sh
source "$CLI/exporter.sh"
# shellcheck source=tools/cli/command_image.sh
source "$CLI/command_image.sh"
# shellcheck source=tools/cli/images_test.sh
source "$CLI/images_test.sh"
# shellcheck source=tools/cli/kube_test.sh
source "$CLI/kube_test.sh"

usage_test() {
    cat <<'TXT'
Usage: ./roundhouse test [--quick | --mutation[=PACKAGES] | --fuzz[=ROUNDS] | --images | --chart | --cluster | --kubelet |
                          --gateway | --scrape | --trace | --pictures | --faults | --attack[=ROWS] |
                          --soak=HOURS[,SEED] | --upgrade=COMMIT | --import | --torch | --demos]

Runs everything CI runs: the Maven build with its tests and format check, the exporter's Python tests, the shell
scripts' checks, and the end-to-end tests against a real server. Ends with a table of stages; the exit code is 1 when
one of them failed.

  --quick     Maven tests only, without those tagged 'slow'
  --mutation  instead, changes the scheduling, dispatching and decoding code in small ways, one at a time, and prints
              how many changes some test notices (docs/mutation.md). Takes minutes per package;
              --mutation=schedule,queue does these alone
TXT
    echo "              packages: $(mutation_names)"
    cat <<'TXT'
  --fuzz      instead, compares so many damaged requests with what protobuf reads of them (5,000,000 if not said, a
              few minutes), has a damaged conversation over HTTP/2 for each 500 of them, and prints executions,
              accepts, refusals, disagreements and seeds (docs/statuses.md)
  --images    instead, builds the container images and runs them, and docker/compose.yaml (docs/images.md), by the
              docker engine that answers, or as root by one of its own. Takes a quarter of an hour. Builds Docker
              Compose from source first where it is not installed, once (minutes; needs Go)
  --chart     instead, tests the Helm chart: lint, what it renders against Kubernetes' schemas, its own suites, and the
              applications started with what it writes. Builds Helm and helm-unittest from source first, once (minutes)
  --cluster   instead, installs the chart in a real Kubernetes control plane, with the applications as processes in the
              place of pods, and replaces them under load. Builds Kubernetes from source first, once (6 to 20 minutes);
              needs Go 1.26, and root for networks and mounts of its own (docs/kubernetes.md says what it does not test)
  --kubelet   instead, builds the container images and installs the chart with them on a real node: kubelet,
              containerd, kube-proxy and CoreDNS, replaced under load. Takes a quarter of an hour, and the first time
              what --cluster takes and four minutes more; as root, with docker (as --images), containerd, runc, CNI's
              plug-ins and iptables
  --gateway   instead, runs those end-to-end tests that share a worker against a gateway before two
  --scrape    instead, runs a node of two workers, a Prometheus that scrapes it and a prometheus-adapter, and asks what the
              chart's autoscalers and the dashboards ask; tests rules and alerts. Takes four minutes; fetches Prometheus
              by apt-get where it is not installed, and builds the adapter first, once (minutes; needs Go 1.26)
  --trace     instead, has the Java client call a gateway before a worker, all three with a real OpenTelemetry Collector,
              and asks for whole traces. Takes two minutes; builds the collector from source first, once (minutes; needs
              Go 1.26)
  --pictures  instead, serves 10,000 models of which 400 are called, takes the live page's pictures in docs/pictures, and
              prints how soon a page shows the models. Takes some minutes; needs chromium and npm
  --faults    instead, cuts workers off from gateways for half a minute, takes their file descriptors and threads away
              and stops them at full load, and prints what became of the calls. Takes a quarter of an
              hour; as root, for networks and control groups of its own
  --attack    instead, does to a worker, and to a gateway before two, what has ended them before or made others wait, on
              loopback, each of it for at most 90 s, and prints one table: memory, what ended, what others felt; and has
              bundles loaded that end processes. Takes three quarters of an hour and 10 GiB of memory;
              --attack=2,10 does these rows alone
  --soak=HOURS[,SEED]
              instead, has a node of two workers and two gateways serve mixed traffic for so many hours (0.1 for six
              minutes) while a plan that SEED makes (the clock, if not said) ends, stops, cuts off and fills parts of it;
              checks what every request saw, and prints one table (docs/reliability.md). Takes 4 GiB of memory; leaves
              partitions and full disks out unless it is run as root
  --upgrade=COMMIT
              instead, builds COMMIT beside this tree, replaces two workers and two gateways of that build by this one's
              and puts them back, one by one under mixed traffic, and checks what every request saw (docs/upgrade.md).
              Takes a quarter of an hour; needs git and the repository's history
  --demos     instead, runs the demos that make a bundle first, each of which compares its answers with a peer's. Takes
              three minutes, and the first time twelve and a download of 170 MB. Leaves out demo detect where no PyTorch
              is in the cache; that demo fetches it
  --import    instead, runs all of the exporter's tests: every node test that ONNX has, where CI runs one in eight. Takes
              ten minutes
  --torch     instead, runs the exporter's tests of PyTorch, which CI leaves out, converts a hundred architectures and
              writes docs/import-torch.md. Takes half an hour, and the first time a download of 4 GB. An interrupted run
              goes on where it was
TXT
}

STAGES=()
STAGE_FAILED=
# Whose jars end-to-end tests start; the worker's is the first.
KEPT_MODULES=(worker-service node-supervisor gateway-service kserve-client simulation benchmarks)

command_test() {
    local quick='' mutation='' packages='' fuzz='' deployed='' rows='' soak='' earlier=''
    while (($# > 0)); do
        case $1 in
            -h | --help)
                usage_test
                return
                ;;
            --quick) quick=yes ;;
            --mutation) mutation=yes ;;
            --mutation=?*)
                mutation=yes
                packages=${1#--mutation=}
                ;;
            --fuzz) fuzz=5000000 ;;
            --fuzz=?*)
                fuzz=${1#--fuzz=}
                [[ $fuzz =~ ^[1-9][0-9]{0,8}$ ]] ||
                    misuse "--fuzz takes a number of rounds from 1 to 999999999 and not '$fuzz'" test
                ;;
            --images | --chart | --cluster | --kubelet | --gateway | --scrape | --trace | --pictures | --faults | --attack | \
                --import | --torch | --demos)
                [[ -z $deployed || $deployed == "${1#--}" ]] ||
                    misuse "--$deployed and $1 are different tests; give one" test
                deployed=${1#--}
                ;;
            --attack=?*)
                [[ -z $deployed || $deployed == attack ]] ||
                    misuse "--$deployed and --attack are different tests; give one" test
                deployed=attack
                rows=${1#--attack=}
                [[ $rows =~ ^[0-9]+[a-z]?(,[0-9]+[a-z]?)*$ ]] ||
                    misuse "--attack takes rows such as 2,10 and not '$rows'" test
                ;;
            --upgrade | --upgrade=*)
                [[ -z $deployed || $deployed == upgrade ]] ||
                    misuse "--$deployed and --upgrade are different tests; give one" test
                deployed=upgrade
                earlier=${1#--upgrade}
                earlier=${earlier#=}
                git -C "$ROOT" rev-parse --verify --quiet --end-of-options "$earlier^{commit}" >/dev/null ||
                    misuse "--upgrade takes a commit of this repository, such as HEAD~1, and not '$earlier'" test
                ;;
            --soak | --soak=*)
                [[ -z $deployed || $deployed == soak ]] ||
                    misuse "--$deployed and --soak are different tests; give one" test
                deployed=soak
                soak=${1#--soak}
                soak=${soak#=}
                [[ $soak =~ ^[0-9]{1,4}(\.[0-9]{1,4})?(,[0-9]{1,18})?$ && ${soak%,*} =~ [1-9] ]] ||
                    misuse "--soak takes HOURS[,SEED], such as --soak=2 or --soak=0.1,7, and not '$soak'" test
                ;;
            *) misuse "test does not know '$1'" test ;;
        esac
        shift
    done
    [[ -z $quick || -z $mutation ]] || misuse "--quick and --mutation are different tests; give one" test
    [[ -z $fuzz || -z $quick$mutation ]] || misuse "--fuzz is a test of its own; give no other option" test
    [[ -z $deployed || -z $quick$mutation$fuzz ]] || misuse "--$deployed is a test of its own; give no other option" test
    if [[ -n $deployed ]]; then
        if [[ $deployed == images ]]; then
            begin_steps 4
            prepare_clients
            stage "container images" test_images
        elif [[ $deployed == import ]]; then
            begin_steps 4
            ensure_jdk
            ensure_tools
            ensure_plugin
            ensure_venv export "$ROOT/tools/model-export/requirements-dev.lock"
            EXPORT_PYTHON=$VENV/bin/python
            stage "exporter tests, all" exporter_tests all
        elif [[ $deployed == torch ]]; then
            begin_steps 2
            ensure_plugin
            ensure_exporter torch
            stage "exporter tests, PyTorch" torch_tests
            stage "architectures" torch_architectures
        elif [[ $deployed == gateway ]]; then
            begin_steps 4
            prepare_clients
            stage "end-to-end, gateway" gateway_tests
        elif [[ $deployed == scrape ]]; then
            begin_steps 4
            prepare_clients
            stage "scrape" scrape_tests
        elif [[ $deployed == trace ]]; then
            begin_steps 5
            prepare_clients
            command -v go >/dev/null || fail "'go' is missing, which builds the collector; install Go 1.26 or newer: https://go.dev/dl"
            ensure_all_built worker-service gateway-service kserve-client
            stage "traces" trace_tests
        elif [[ $deployed == pictures ]]; then
            begin_steps 4
            prepare_clients
            stage "pictures" picture_tests
        elif [[ $deployed == demos ]]; then
            begin_steps 4
            prepare_clients
            stage "demos" demo_tests
        elif [[ $deployed == faults ]]; then
            begin_steps 4
            prepare_clients
            stage "faults" fault_tests
        elif [[ $deployed == attack ]]; then
            begin_steps 4
            prepare_clients
            stage "attacks" attack_tests "$rows"
        elif [[ $deployed == soak ]]; then
            begin_steps 4
            prepare_clients
            stage "soak, ${soak%,*} h" soak_tests "$soak"
        elif [[ $deployed == upgrade ]]; then
            begin_steps 6
            prepare_clients
            ensure_earlier "$earlier"
            ensure_all_built worker-service gateway-service
            stage "upgrade from $earlier" upgrade_tests
        else
            test_kube "$deployed"
        fi
        print_stages
        [[ -z $STAGE_FAILED ]]
        return
    fi
    if [[ -n $fuzz ]]; then
        begin_steps 2
        ensure_jdk
        ensure_tools
        stage "fuzz, $fuzz requests" fuzz "$fuzz"
        print_stages
        [[ -z $STAGE_FAILED ]]
        return
    fi
    if [[ -n $mutation ]]; then
        choose_mutations "$packages"
        begin_steps $((2 + ${#CHOSEN[@]}))
        ensure_jdk
        ensure_tools
        test_mutations
        return
    fi
    if [[ -n $quick ]]; then
        begin_steps 3
        ensure_jdk
        ensure_tools
        ensure_plugin
        stage "Java tests, quick" maven -q test -DexcludedGroups=slow
    else
        begin_steps 5
        ensure_jdk
        ensure_tools
        ensure_plugin
        # Two environments: the exporter and the stock client pin different ml_dtypes.
        ensure_venv export "$ROOT/tools/model-export/requirements-dev.lock"
        EXPORT_PYTHON=$VENV/bin/python
        ensure_venv e2e "$ROOT/e2e-tests/requirements.lock"
        E2E_PYTHON=$VENV/bin/python
        stage "script checks" check_scripts
        stage "Java and exporter tests" java_and_exporter_tests
        stage "end-to-end tests" end_to_end_tests
    fi
    print_stages
    [[ -z $STAGE_FAILED ]]
}

# What end-to-end tests need beside what they test; leaves the Python of the clients in E2E_PYTHON.
prepare_clients() {
    ensure_jdk
    ensure_tools
    ensure_plugin
    ensure_venv e2e "$ROOT/e2e-tests/requirements.lock"
    E2E_PYTHON=$VENV/bin/python
}

fuzz() { # ROUNDS
    maven -q test -pl shared-kserve,transport -am -Dtest=RequestFuzzTest,FrameFuzzTest,HostileBytesTest \
        -Dsurefire.failIfNoSpecifiedTests=false "-Dcodec.rounds=$1" "-Dframes.rounds=$(($1 / 500 + 1))"
}

# stage NAME COMMAND...: runs one stage with its output in the open, and remembers how it ended.
stage() {
    local name=$1 started result=pass
    shift
    started=$(tenths_now)
    printf '\n== %s\n' "$name" >&2
    set -m
    "$@" </dev/null &
    CHILD=$!
    set +m
    if ! wait "$CHILD"; then
        result=FAIL
        STAGE_FAILED=yes
    fi
    CHILD=
    STAGES+=("$(printf '%-28s %8s s   %s' "$name" "$(seconds_since "$started")" "$result")")
}

print_stages() {
    printf '\n%-28s %10s   %s\n' stage seconds result
    printf '%s\n' "${STAGES[@]}"
}

check_scripts() {
    cd "$ROOT" || exit
    "${E2E_PYTHON%/*}/shellcheck" -x roundhouse .ci/run tools/cli/*.sh tools/gpu-pack/gpu-check \
        tools/peers/fetch tools/kube/fetch e2e-tests/pod_root docker/train docker/bin/*
    "$EXPORT_PYTHON" -m ruff check --no-cache --quiet tools/model-export tools/model-bench tools/cli/demo tools/cli/top tools/gpu-pack tools/sbom tools/advisories tools/pins tools/peers docker kserve-client/python e2e-tests
    "$EXPORT_PYTHON" -m ruff format --no-cache --check --quiet tools/model-export tools/model-bench tools/cli/demo tools/cli/top tools/gpu-pack tools/sbom tools/advisories tools/pins tools/peers docker kserve-client/python e2e-tests
}

# The exporter's tests measure nothing and take what processor time Maven leaves over, which is a fifth of two processors.
java_and_exporter_tests() {
    local log=$CACHE/logs/exporter-tests.log code=0 java exporter
    mkdir -p "${log%/*}"
    verify_and_keep &
    java=$!
    (
        renice -n 19 "$BASHPID" >/dev/null
        exporter_tests ''
    ) >"$log" 2>&1 &
    exporter=$!
    wait "$java" || code=1
    echo "-- exporter tests" >&2
    wait "$exporter" || code=1
    cat "$log"
    return "$code"
}

verify_and_keep() {
    local key module
    key=$(source_key)
    maven -q -T 2 verify # two modules at a time, as far as they do not need each other
    for module in "${KEPT_MODULES[@]}"; do
        keep_jar "$module" "$(module_jar "$module")" "$key" # or end-to-end tests would build it again
    done
    mark_pack_built "$key"
}

# On both processors at least, for most of it is compiling.
exporter_tests() { # all, or nothing for what CI runs
    cd "$ROOT/tools/model-export" || exit
    "$EXPORT_PYTHON" -m mypy --no-incremental src
    ROUNDHOUSE_TEST_PLUGIN=$PLUGIN_DIRECTORY/xla_cpu_pjrt.so ROUNDHOUSE_EXPORT_TESTS=$1 KERAS_BACKEND=jax exec "$EXPORT_PYTHON" -m pytest -q -p no:cacheprovider -n 2 --dist worksteal
}

torch_tests() {
    cd "$ROOT/tools/model-export" || exit
    exec "$EXPORT_PYTHON" -m pytest -q -p no:cacheprovider tests/test_torch_source.py tests/test_torch_files.py tests/test_triton_torch.py
}

# Results are kept in the cache until all are there and the page is written.
torch_architectures() {
    local kept=$CACHE/torch-architectures.jsonl
    cd "$ROOT/tools/model-export/tests" || exit
    ROUNDHOUSE_TEST_PLUGIN=$PLUGIN_DIRECTORY/xla_cpu_pjrt.so PYTHONPATH=$EXPORT_SOURCES OMP_NUM_THREADS=1 \
        "$EXPORT_PYTHON" -m torch_architectures --results "$kept" --page "$ROOT/docs/import-torch.md" --at-least 90 || return
    rm "$kept"
}

fault_tests() {
    begin_steps 1
    ensure_all_built worker-service gateway-service
    cd "$ROOT/e2e-tests" || exit
    ROUNDHOUSE_E2E_FAULTS=full ROUNDHOUSE_E2E_JAR=${JARS[0]} ROUNDHOUSE_E2E_GATEWAY_JAR=${JARS[1]} \
        exec "$E2E_PYTHON" -m pytest -v -p no:cacheprovider test_gateway_faults.py
}

demo_tests() {
    cd "$ROOT/e2e-tests" || exit
    ROUNDHOUSE_E2E_DEMOS=full exec "$E2E_PYTHON" -m pytest -v -p no:cacheprovider test_demos.py
}

scrape_tests() {
    begin_steps 1
    ensure_all_built worker-service gateway-service node-supervisor # which 'up' would do within a test's time
    cd "$ROOT/e2e-tests" || exit
    ROUNDHOUSE_E2E_SCRAPE=1 exec "$E2E_PYTHON" -m pytest -v -p no:cacheprovider test_scrape.py test_observe.py
}

picture_tests() {
    begin_steps 1
    ensure_all_built worker-service
    cd "$ROOT/e2e-tests" || exit
    ROUNDHOUSE_E2E_PICTURES=$ROOT/docs/pictures ROUNDHOUSE_E2E_JAR=${JARS[0]} \
        exec "$E2E_PYTHON" -m pytest -v -p no:cacheprovider test_pictures.py
}

trace_tests() {
    cd "$ROOT/e2e-tests" || exit
    ROUNDHOUSE_E2E_TRACE=1 ROUNDHOUSE_E2E_JAR=${JARS[0]} ROUNDHOUSE_E2E_GATEWAY_JAR=${JARS[1]} \
        ROUNDHOUSE_E2E_CLIENT_JAR=${JARS[2]} exec "$E2E_PYTHON" -m pytest -v -p no:cacheprovider test_spans.py test_collector.py
}

attack_tests() { # ROWS, all of them if empty
    local bundles=(test_hostile_bundles.py) # rows 4, 14 and 15
    [[ -z $1 ]] || bundles=()
    begin_steps 1
    ensure_all_built worker-service gateway-service
    cd "$ROOT/e2e-tests" || exit
    ROUNDHOUSE_E2E_ATTACK=full ROUNDHOUSE_E2E_ATTACK_ROWS=$1 ROUNDHOUSE_E2E_JAR=${JARS[0]} \
        ROUNDHOUSE_E2E_GATEWAY_JAR=${JARS[1]} exec "$E2E_PYTHON" -m pytest -v -p no:cacheprovider attack "${bundles[@]}"
}

soak_tests() { # HOURS[,SEED]
    begin_steps 1
    ensure_all_built worker-service gateway-service node-supervisor
    cd "$ROOT/e2e-tests" || exit
    ROUNDHOUSE_E2E_SOAK=$1 ROUNDHOUSE_E2E_JAR=${JARS[0]} ROUNDHOUSE_E2E_GATEWAY_JAR=${JARS[1]} \
        exec "$E2E_PYTHON" -m pytest -v -p no:cacheprovider soak
}

upgrade_tests() {
    cd "$ROOT/e2e-tests" || exit
    ROUNDHOUSE_E2E_UPGRADE_FROM=$EARLIER_JARS ROUNDHOUSE_E2E_JAR=${JARS[0]} ROUNDHOUSE_E2E_GATEWAY_JAR=${JARS[1]} \
        exec "$E2E_PYTHON" -m pytest -v -p no:cacheprovider test_upgrade.py
}

# The jars are there if the stage before has passed. If not, they are built first, so that no test waits for a build.
end_to_end_tests() {
    begin_steps 1
    ensure_all_built "${KEPT_MODULES[@]}"
    export ROUNDHOUSE_E2E_JAR=${JARS[0]}
    run_end_to_end ''
}

gateway_tests() {
    begin_steps 1
    ensure_all_built worker-service gateway-service
    export ROUNDHOUSE_E2E_JAR=${JARS[0]} ROUNDHOUSE_E2E_GATEWAY_JAR=${JARS[1]} ROUNDHOUSE_E2E_GATEWAY=2
    run_end_to_end 'shared and '
}

# Two files at a time, then one after the other those that measure.
run_end_to_end() { # what the choice of tests begins with
    local code=0
    cd "$ROOT/e2e-tests" || exit
    ROUNDHOUSE_E2E_TRAINED=$(mktemp -d) # for all processes of tests, which would each train their own
    export ROUNDHOUSE_E2E_TRAINED
    export ROUNDHOUSE_E2E_JVM=-XX:TieredStopAtLevel=1 # most processes end before C2 has paid for itself
    "$E2E_PYTHON" -m pytest -q -p no:cacheprovider --durations=25 -m "$1not alone" -n 2 --dist loadfile || code=1
    "$E2E_PYTHON" -m pytest -q -p no:cacheprovider --durations=25 -m "$1alone" || code=1
    rm -r "$ROUNDHOUSE_E2E_TRAINED"
    return "$code"
}

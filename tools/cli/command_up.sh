# shellcheck shell=bash
# up: from a bare machine to a serving worker.

# shellcheck source=tools/cli/exporter.sh
source "$CLI/exporter.sh"
# shellcheck source=tools/cli/observe.sh
source "$CLI/observe.sh"

usage_up() {
    cat <<'TXT'
Usage: ./roundhouse up [OPTIONS]

Sets the machine up (JDK 25, build tools, PJRT plugin), builds what changed, and serves a model repository in the
foreground. Prints one line 'ready ...' when every model is ready. Ctrl-C or SIGTERM drains and stops it.

  --models DIR         model repository: a folder of bundles (default: examples/models). Models of a Triton repository
                       and .onnx files in it are converted first, if they changed, into a folder of the cache, and that
                       is served; it is done once, before serving
  --http-port N        REST and health (default 8000)
  --grpc-port N        KServe V2 gRPC (default 8001)
  --metrics-port N     actuator and Prometheus (default 8002)
  --workers N          so many worker processes on this machine's processors, behind a gateway and kept running by a
                       supervisor (default 1: one worker, none of these)
  --node-port N        with several workers: the supervisor's actuator and metrics (default 8003)
  --observe            starts a Prometheus too, which scrapes what is served every 5 s and evaluates our rules and alerts
                       (docs/operations.md); it ends with the server, and what it recorded with it. The machine's, or
                       out of the distribution's package
  --observe-port N     its port, on 127.0.0.1 (default 9090)
  --set KEY=VALUE      any configuration key, whole: --set roundhouse.worker.shutdown.drain=10s; may be repeated. With
                       several workers it goes to the application that its prefix names: roundhouse.worker. (all of
                       them), roundhouse.gateway. or roundhouse.node.
  --axis, --batch-sizes, --input, --wide
                       for models that are converted, as of ./roundhouse import; --axis MODEL/AXIS=16,64 and
                       --input MODEL/INPUT=f32[n,4] are of one model alone

Port 0 takes any free port.
TXT
}

command_up() {
    local models=$ROOT/examples/models http=8000 grpc=8001 metrics=8002 node=8003 workers=1 settings=()
    local steps=4 convert='' conversion=() observe='' observe_port=''
    while (($# > 0)); do
        case $1 in
            -h | --help)
                usage_up
                return
                ;;
            --observe)
                observe=yes
                shift
                ;;
            --models | --http-port | --grpc-port | --metrics-port | --workers | --node-port | --observe-port | --set)
                (($# >= 2)) || misuse "$1 needs a value" up
                case $1 in
                    --models) models=$2 ;;
                    --http-port) http=$2 ;;
                    --grpc-port) grpc=$2 ;;
                    --metrics-port) metrics=$2 ;;
                    --workers) workers=$2 ;;
                    --node-port) node=$2 ;;
                    --observe-port) observe_port=$2 ;;
                    --set)
                        [[ $2 == ?*=* ]] || misuse "--set takes KEY=VALUE, not '$2'" up
                        settings+=("--$2")
                        ;;
                esac
                shift 2
                ;;
            --axis | --batch-sizes | --input | --wide)
                (($# >= 2)) || misuse "$1 needs a value" up
                conversion+=("$1" "$2")
                shift 2
                ;;
            *) misuse "up does not know '$1'" up ;;
        esac
    done
    check_port --http-port "$http" up
    check_port --grpc-port "$grpc" up
    check_port --metrics-port "$metrics" up
    check_port --node-port "$node" up
    [[ -z $observe_port || -n $observe ]] || misuse "--observe-port is of --observe, which is not given" up
    observe_port=${observe_port:-9090}
    check_port --observe-port "$observe_port" up
    [[ $workers =~ ^[1-9][0-9]{0,2}$ ]] || misuse "--workers takes a number from 1 to 999, not '$workers'" up
    [[ -d $models ]] || fail "--models $models: no such folder"
    models=$(cd "$models" && pwd)
    if has_foreign_models "$models"; then
        convert=yes
        steps=6
    elif ((${#conversion[@]} > 0)); then
        misuse "${conversion[0]} is for models that are converted, and $models has none" up
    fi
    if [[ -n $observe ]]; then
        steps=$((steps + 1))
        # Prometheus must know where to look before anything is there
        ((metrics != 0)) || metrics=$(free_port)
        ((node != 0)) || node=$(free_port)
        require_free --observe-port "$observe_port"
    fi
    require_distinct_ports "$http" "$grpc" "$metrics" ${observe:+"$observe_port"}
    require_free --http-port "$http"
    require_free --grpc-port "$grpc"
    require_free --metrics-port "$metrics"
    if ((workers > 1)); then
        up_node
        return
    fi

    begin_steps "$steps"
    [[ -z $observe ]] || ensure_prometheus
    prepare worker-service
    up_convert
    worker_command "$models" "$http" "$grpc" "$metrics"
    [[ -z $observe ]] || start_observer "$observe_port" "$metrics"
    exec "${WORKER[@]}" "${settings[@]}"
}

# Of the variables of command_up: what is served is a folder that has all of it as bundles.
up_convert() {
    [[ -z $convert ]] || {
        convert_models "$models" "${conversion[@]}"
        models=$CONVERTED
    }
}

# Several workers; of the variables of command_up.
up_node() {
    local setting modules=(node-supervisor worker-service) own_gateway=yes own_worker=yes gateway=() worker_jar=()
    require_distinct_ports "$http" "$grpc" "$metrics" "$node" ${observe:+"$observe_port"}
    require_free --node-port "$node"
    for setting in "${settings[@]}"; do
        case $setting in
            --roundhouse.worker.* | --roundhouse.gateway.*) ;;
            --roundhouse.node.gateway.command* | --roundhouse.node.role=workers) own_gateway='' ;;
            --roundhouse.node.role=gateway) misuse "up starts workers; for a gateway alone see docs/node.md, Roles" up ;;
            --roundhouse.node.worker.command*) own_worker='' ;;
            --roundhouse.node.* | --logging.structured.format.console=*) ;;
            *) misuse "with several workers --set takes keys that begin with roundhouse.worker., roundhouse.gateway. or roundhouse.node., or logging.structured.format.console, not '${setting#--}'" up ;;
        esac
    done
    [[ -z $own_gateway ]] || modules+=(gateway-service)
    node_memory "$workers"
    begin_steps "$steps"
    [[ -z $observe ]] || ensure_prometheus
    ensure_jdk
    ensure_tools
    ensure_plugin
    ensure_all_built "${modules[@]}"
    up_convert
    if [[ -n $own_gateway ]]; then
        is_application "${JARS[2]}" || fail "gateway-service is not an application in this version, and several workers need one before them:" \
            "name another program by --set roundhouse.node.gateway.command=PROGRAM, or start one worker"
        gateway=("--roundhouse.node.gateway.jar=${JARS[2]}"
            "--roundhouse.node.gateway.jvm-options=$(joined "${WORKER_OPTIONS[@]}" "${GATEWAY_OPTIONS[@]}")")
    fi
    # a program in the place of Java takes neither jar nor options
    if [[ -n $own_worker ]]; then
        worker_jar=("--roundhouse.node.worker.jar=${JARS[1]}"
            "--roundhouse.node.worker.jvm-options=$(joined "${WORKER_OPTIONS[@]}" "${MEMORY_OPTIONS[@]}")")
    fi
    worker_environment
    [[ -z $observe ]] || start_observer "$observe_port" "$node"
    exec "$JAVA_HOME/bin/java" "${NODE_OPTIONS[@]}" --enable-native-access=ALL-UNNAMED -jar "${JARS[0]}" \
        --roundhouse.node.devices.platform=cpu "--roundhouse.node.devices.cpu-workers=$workers" \
        "--roundhouse.node.ports.http=$http" "--roundhouse.node.ports.grpc=$grpc" \
        "--roundhouse.node.ports.metrics=$metrics" "--roundhouse.node.ports.node=$node" \
        "${worker_jar[@]}" "${gateway[@]}" "--roundhouse.worker.repository.directories=$models" "${settings[@]}"
}

joined() {
    local IFS=,
    echo "$*"
}

# Names of a jar's entries are not compressed.
is_application() { # JAR
    grep -aq 'org/springframework/boot/loader/launch/' "$1"
}

require_distinct_ports() {
    local repeated
    # any number of them may be 0, and grep says 1 when nothing is left
    repeated=$(printf '%d\n' "$@" | { grep -vx 0 || true; } | sort | uniq -d)
    [[ -z $repeated ]] || fail "port $repeated is given twice; --http-port, --grpc-port, --metrics-port, --node-port and --observe-port must differ"
}

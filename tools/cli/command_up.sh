# shellcheck shell=bash
# up: from a bare machine to a serving worker.

usage_up() {
    cat <<'TXT'
Usage: ./roundhouse up [OPTIONS]

Sets the machine up (JDK 25, build tools, PJRT plugin), builds what changed, and serves a model repository in the
foreground. Prints one line 'ready ...' when every model is ready. Ctrl-C or SIGTERM drains and stops it.

  --models DIR         model repository: a folder of bundles (default: examples/models)
  --http-port N        REST and health (default 8000)
  --grpc-port N        KServe V2 gRPC (default 8001)
  --metrics-port N     actuator and Prometheus (default 8002)
  --set KEY=VALUE      any configuration key, whole: --set roundhouse.worker.shutdown.drain=10s; may be repeated

Port 0 takes any free port.
TXT
}

command_up() {
    local models=$ROOT/examples/models http=8000 grpc=8001 metrics=8002 settings=()
    while (($# > 0)); do
        case $1 in
            -h | --help)
                usage_up
                return
                ;;
            --models | --http-port | --grpc-port | --metrics-port | --set)
                (($# >= 2)) || misuse "$1 needs a value" up
                case $1 in
                    --models) models=$2 ;;
                    --http-port) http=$2 ;;
                    --grpc-port) grpc=$2 ;;
                    --metrics-port) metrics=$2 ;;
                    --set)
                        [[ $2 == ?*=* ]] || misuse "--set takes KEY=VALUE, not '$2'" up
                        settings+=("--$2")
                        ;;
                esac
                shift 2
                ;;
            *) misuse "up does not know '$1'" up ;;
        esac
    done
    check_port --http-port "$http" up
    check_port --grpc-port "$grpc" up
    check_port --metrics-port "$metrics" up
    [[ -d $models ]] || fail "--models $models: no such folder"
    models=$(cd "$models" && pwd)
    require_distinct_ports "$http" "$grpc" "$metrics"
    require_free --http-port "$http"
    require_free --grpc-port "$grpc"
    require_free --metrics-port "$metrics"

    begin_steps 4
    prepare worker-service
    worker_command "$models" "$http" "$grpc" "$metrics"
    exec "${WORKER[@]}" "${settings[@]}"
}

require_distinct_ports() {
    local repeated
    # any number of them may be 0, and grep says 1 when nothing is left
    repeated=$(printf '%d\n' "$@" | { grep -vx 0 || true; } | sort | uniq -d)
    [[ -z $repeated ]] || fail "port $repeated is given twice; --http-port, --grpc-port and --metrics-port must differ"
}

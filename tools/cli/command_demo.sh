# shellcheck shell=bash
# demo: a model at work, seen from a client.

usage_demo() {
    cat <<'TXT'
Usage: ./roundhouse demo NAME [--grpc-port N]

Uses the server on the gRPC port (default 8001) if one answers there; otherwise starts one for itself on a free port
and stops it at the end.

  digits   held-out images of handwritten digits as text, with predicted and true labels, latency and accuracy
  list     the names of the demos
TXT
}

command_demo() {
    local name='' port=8001
    while (($# > 0)); do
        case $1 in
            -h | --help)
                usage_demo
                return
                ;;
            --grpc-port)
                (($# >= 2)) || misuse "--grpc-port needs a value" demo
                port=$2
                shift 2
                ;;
            -*) misuse "demo does not know '$1'" demo ;;
            *)
                [[ -z $name ]] || misuse "demo takes one name, got '$name' and '$1'" demo
                name=$1
                shift
                ;;
        esac
    done
    [[ -n $name ]] || misuse "demo needs a name; ./roundhouse demo list shows them" demo
    if [[ $name == list ]]; then
        list_demos
        return
    fi
    [[ -e $CLI/demo/$name.py ]] || misuse "there is no demo '$name'; ./roundhouse demo list shows them" demo
    check_port --grpc-port "$port" demo

    if port_in_use "$port"; then
        begin_steps 2
        ensure_tools
    else
        begin_steps 6
        prepare worker-service
    fi
    ensure_venv client "$CLI/demo/requirements.txt"
    if ! port_in_use "$port"; then
        start_private_worker "$ROOT/examples/models"
        port=$GRPC_PORT
    fi
    "$VENV/bin/python" "$CLI/demo/$name.py" --root "$ROOT" --port "$port"
}

# The first line of each demo's own description.
list_demos() {
    local file
    for file in "$CLI"/demo/*.py; do
        printf '%-10s %s\n' "$(basename "$file" .py)" "$(sed -n '1s/^"""\([^"]*\).*/\1/p' "$file")"
    done
}

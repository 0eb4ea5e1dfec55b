# shellcheck shell=bash
# Long-running children. Each gets its own process group, and a signal to this script ends the whole group: no build,
# installer or server outlives the command that started it.

CHILD=

stop_child() {
    local pid=$CHILD
    CHILD=
    if [[ -n $pid ]]; then
        kill -TERM -- "-$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    fi
}

trap stop_child EXIT
trap 'stop_child; exit 130' INT
trap 'stop_child; exit 143' TERM
trap 'stop_child; exit 129' HUP

# start_child LOG COMMAND...: leaves the process id in CHILD.
start_child() {
    local log=$1
    shift
    mkdir -p "$(dirname "$log")"
    set -m
    "$@" >"$log" 2>&1 </dev/null &
    CHILD=$!
    set +m
}

# Waits for CHILD, drawing the running step meanwhile; returns its exit code.
await_child() {
    local pid=$CHILD code=0
    if [[ -t 2 ]]; then
        while kill -0 "$pid" 2>/dev/null; do
            tick_step
            sleep 0.5
        done
    fi
    wait "$pid" || code=$?
    CHILD=
    return "$code"
}

# run_logged LOG COMMAND...: runs quietly; on failure shows the end of the log and gives up.
run_logged() {
    local log=$1
    start_child "$@"
    if ! await_child; then
        printf 'FAILED\n' >&2
        tail -n 40 "$log" >&2
        fail "step '$STEP_LABEL' failed; the whole log is $log"
    fi
}

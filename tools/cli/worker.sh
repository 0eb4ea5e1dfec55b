# shellcheck shell=bash
# The worker process: its command line, and a private one for commands that need a server.

WORKER_OPTIONS=(--enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow)
# A crash is told beside the worker's journal, which learns from it whose run it was (docs/compiling.md).
if [[ -n ${ROUNDHOUSE_CACHE:-${CACHE:-}} ]]; then
    WORKER_OPTIONS+=("-XX:ErrorFile=${ROUNDHOUSE_CACHE:-$CACHE}/journal/hs_err_%p.log")
fi

# XLA takes memory for each run on the CPU from malloc and gives it back: with pages of 2 MiB, a run of resnet18 for eight
# rows took 133 ms in place of 148 (docs/benchmark-history.md).
worker_environment() {
    export GLIBC_TUNABLES=${GLIBC_TUNABLES-glibc.malloc.hugetlb=1}
}

# worker_command MODELS HTTP GRPC METRICS: leaves the command line in WORKER.
worker_command() {
    memory_options
    worker_environment
    WORKER=("$JAVA_HOME/bin/java" "${WORKER_OPTIONS[@]}" "${MEMORY_OPTIONS[@]}" -jar "$JAR"
        "--roundhouse.worker.repository.directories=$1"
        "--server.port=$2" "--spring.grpc.server.port=$3" "--management.server.port=$4")
}

# Starts a worker on free ports as this command's child and waits until every model is ready; leaves its ports in
# GRPC_PORT, HTTP_PORT and METRICS_PORT. It ends with this command.
start_private_worker() {
    local log=$CACHE/logs/worker-$$.log waited=0
    GRPC_PORT=$(free_port)
    worker_command "$1" 0 "$GRPC_PORT" 0
    begin_step "server on port $GRPC_PORT"
    start_child "$log" "${WORKER[@]}"
    until grep -q '^ready ' "$log"; do
        if ! kill -0 "$CHILD" 2>/dev/null || ((waited >= 240)); then
            printf 'FAILED\n' >&2
            tail -n 40 "$log" >&2
            fail "the server did not become ready; its log is $log"
        fi
        tick_step
        sleep 0.5
        waited=$((waited + 1))
    done
    # shellcheck disable=SC2034 # for those who ask over HTTP
    HTTP_PORT=$(sed -n 's/^ready .* http=\([0-9]*\).*/\1/p' "$log")
    # shellcheck disable=SC2034 # for those who look at metrics
    METRICS_PORT=$(sed -n 's/^ready .* metrics=\([0-9]*\).*/\1/p' "$log")
    end_step "ready"
}

# Steps 1 to 4 of every command that runs what we build.
prepare() {
    ensure_jdk
    ensure_tools
    ensure_plugin
    ensure_built "$1"
}

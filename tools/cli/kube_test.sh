# shellcheck shell=bash
# The chart: what it renders, and what becomes of it in a cluster. Needs what tools.sh, worker.sh and command_test.sh have.

test_kube() { # chart|cluster
    [[ $1 == chart || $(id -u) == 0 ]] ||
        fail "--cluster makes networks and mounts, which needs root; run it as root, such as by sudo --preserve-env=JAVA_HOME"
    command -v go >/dev/null || fail "'go' is missing, which builds what --$1 runs; install Go 1.26 or newer: https://go.dev/dl"
    begin_steps 5
    prepare_clients
    ensure_all_built worker-service gateway-service node-supervisor
    stage "build Helm" "$ROOT/tools/kube/fetch" helm
    [[ $1 == cluster ]] || stage "build helm-unittest" "$ROOT/tools/kube/fetch" helm-unittest
    [[ $1 == chart ]] || stage "build Kubernetes" "$ROOT/tools/kube/fetch" cluster
    [[ -n $STAGE_FAILED ]] || stage "$1 tests" "$1_tests"
}

chart_tests() {
    cd "$ROOT/e2e-tests" || exit
    ROUNDHOUSE_E2E_JAR=${JARS[0]} ROUNDHOUSE_E2E_GATEWAY_JAR=${JARS[1]} ROUNDHOUSE_E2E_CHART=1 \
        exec "$E2E_PYTHON" -m pytest -q -p no:cacheprovider test_chart.py
}

# In a network of its own: a cluster has many ports, and addresses that are nobody else's.
cluster_tests() {
    cd "$ROOT/e2e-tests" || exit
    ROUNDHOUSE_E2E_JAR=${JARS[0]} ROUNDHOUSE_E2E_GATEWAY_JAR=${JARS[1]} ROUNDHOUSE_E2E_NODE_JAR=${JARS[2]} \
        ROUNDHOUSE_E2E_CLUSTER=1 exec unshare --net -- bash -euc 'ip link set lo up; exec "$@"' cluster-tests \
        "$E2E_PYTHON" -m pytest -q -p no:cacheprovider test_cluster.py
}

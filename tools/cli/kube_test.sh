# shellcheck shell=bash
# The chart: what it renders, and what becomes of it in a cluster. Needs what tools.sh, worker.sh, command_test.sh and
# images_test.sh have.

test_kube() { # chart|cluster|kubelet
    [[ $1 == chart || $(id -u) == 0 ]] ||
        fail "--$1 makes networks and mounts, which needs root; run it as root, such as by sudo --preserve-env=JAVA_HOME"
    command -v go >/dev/null || fail "'go' is missing, which builds what --$1 runs; install Go 1.26 or newer: https://go.dev/dl"
    begin_steps 5
    prepare_clients
    [[ $1 != kubelet ]] || check_node
    ensure_all_built worker-service gateway-service node-supervisor
    stage "build Helm" "$ROOT/tools/kube/fetch" helm
    [[ $1 != chart ]] || stage "build helm-unittest" "$ROOT/tools/kube/fetch" helm-unittest
    [[ $1 == chart ]] || stage "build Kubernetes" "$ROOT/tools/kube/fetch" cluster
    [[ $1 != kubelet ]] || stage "build CoreDNS" "$ROOT/tools/kube/fetch" dns
    [[ -n $STAGE_FAILED ]] || stage "$1 tests" "$1_tests"
}

# Ends with the reason where there can be no node, before minutes are spent on images.
check_node() {
    local obstacle
    obstacle=$(cd "$ROOT/e2e-tests" && "$E2E_PYTHON" -c 'import kubelet_node; print(kubelet_node.obstacle())') || exit
    [[ -n $obstacle || -n ${ROUNDHOUSE_E2E_IMAGE_ARCHIVE:-} ]] || obstacle=$(images_obstacle)
    [[ -z $obstacle ]] || fail "the kubelet is not tested here: $obstacle"
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

# Images of a container engine, in networks, mounts and processes of their own: what a node starts ends with them.
kubelet_tests() {
    local scratch made=() place
    scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/roundhouse-kubelet.XXXXXX")
    for place in /var/lib/cni /var/log/containers; do
        [[ -e $place ]] || made+=("$place")
    done
    # shellcheck disable=SC2064  # what is so now
    trap "leave_node '$scratch' ${made[*]}" EXIT
    if [[ -z ${ROUNDHOUSE_E2E_IMAGE_ARCHIVE:-} ]]; then
        export ROUNDHOUSE_E2E_IMAGES=$IMAGES_TAG ROUNDHOUSE_E2E_IMAGE_ARCHIVE=$scratch/images.tar
        (archive_images "$ROUNDHOUSE_E2E_IMAGE_ARCHIVE") || return
    fi
    cd "$ROOT/e2e-tests" || return
    TMPDIR=$scratch unshare --net --mount --pid --fork --kill-child --mount-proc -- \
        bash -euc 'ip link set lo up; "$@"; exit' kubelet-tests "$E2E_PYTHON" -m pytest -v -p no:cacheprovider test_kubelet.py
}

# The test removes what its node made; where it was cut off, this does, once the last process is gone.
leave_node() { # FOLDER MADE...
    local node groups tries=0
    for node in "$1"/rh-node-*; do
        [[ -d $node ]] || continue
        groups=(-depth -type d -path "*/${node##*/}*")
        while [[ -n $(find /sys/fs/cgroup "${groups[@]}" -print -quit) ]] && ((tries++ < 60)); do
            find /sys/fs/cgroup "${groups[@]}" -exec rmdir {} \; 2>/dev/null || true
            sleep 0.5
        done
    done
    rm -rf "$1"
    shift
    (($# == 0)) || rmdir "$@" 2>/dev/null || true
}

# shellcheck shell=bash
# The stage of ./roundhouse test --images, and what --kubelet has of it: an engine, images on it, and what they do. It
# leaves nothing behind but a base image's archive in the cache.

IMAGES_TAG=e2e-$$

# Says why the images cannot be tested here; nothing when they can.
images_obstacle() {
    if docker_answers; then
        return
    elif ! command -v docker >/dev/null || ! command -v dockerd >/dev/null; then
        echo "no engine: 'docker version' fails, and there is no dockerd to start one; install docker.io"
    elif [[ $(id -u) != 0 ]]; then
        echo "no engine: 'docker version' fails for this user, and only root can start one"
    elif ! command -v ip >/dev/null || ! command -v nsenter >/dev/null; then
        echo "no engine: 'docker version' fails, and one of our own needs ip and nsenter; install iproute2 and util-linux"
    fi
}

docker_answers() { docker version >/dev/null 2>&1; }

test_images() {
    local obstacle scratch base jdk inside=()
    obstacle=$(images_obstacle)
    [[ -z $obstacle ]] || fail "the images are not tested here: $obstacle"
    build_test_images || return
    prepare_compose "$scratch/config"
    export ROUNDHOUSE_E2E_IMAGES=$IMAGES_TAG ROUNDHOUSE_E2E_IMAGE_BASE=$base ROUNDHOUSE_E2E_IMAGE_JDK=$jdk
    (cd "$ROOT/e2e-tests" && "${inside[@]}" "$E2E_PYTHON" -m pytest -v -rs -p no:cacheprovider \
        test_container_images.py test_compose.py) || return
    test_node_by_client
}

# What docker saves of the three images, for a node of a cluster; for a subshell, which takes its engine along.
archive_images() { # FILE
    local scratch base jdk inside=() name names=()
    build_test_images || return
    for name in "${IMAGES[@]}"; do
        names+=("roundhouse-$name:$IMAGES_TAG")
    done
    docker save --output "$1" "${names[@]}"
}

# Leaves in its caller's variables what the images stand on, and how commands get to where the engine is; they go when
# the shell ends.
build_test_images() {
    base=$IMAGE_BASE jdk=$IMAGE_JDK
    scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/roundhouse-images.XXXXXX")
    # shellcheck disable=SC2064  # the folder of now
    trap "leave_engine '$scratch'" EXIT
    quiet_builder
    if ! docker_answers; then
        start_engine "$scratch"
        inside=(nsenter "--net=/run/netns/$ENGINE_NETWORK")
    fi
    if command -v mmdebstrap >/dev/null && [[ $(id -u) == 0 ]]; then
        base=roundhouse-base:$IMAGES_TAG jdk=roundhouse-jdk:$IMAGES_TAG
        local_bases "$base" "$jdk" "$scratch" || return
    else
        echo "base images are pulled, as there is no mmdebstrap to make them here" >&2
    fi
    "$ROOT/roundhouse" image --engine docker --tag "$IMAGES_TAG" --base "$base" --jdk "$jdk"
}

# kserve-client against the node, by Testcontainers: once without an image, which fetches what Maven needs and skips,
# then where the engine is, and no network.
test_node_by_client() {
    local arguments=(-q -P containers test -pl kserve-client -am -Dtest=NodeImageTest -Dsurefire.failIfNoSpecifiedTests=false)
    # its helpers would come from a registry
    export TESTCONTAINERS_RYUK_DISABLED=true TESTCONTAINERS_TINYIMAGE_CONTAINER_IMAGE=$ROUNDHOUSE_E2E_IMAGE_BASE
    # on a machine that is a container itself it would ask one of them
    [[ -z ${ENGINE_PID:-} ]] || export TESTCONTAINERS_HOST_OVERRIDE=127.0.0.1
    maven "${arguments[@]}" || return
    (cd "$ROOT" && "${inside[@]}" mvn -B -ntp -o "${arguments[@]}" "-Dnode.image=roundhouse-node:$IMAGES_TAG") || return
    grep -q '^Tests run: 1, Failures: 0, Errors: 0, Skipped: 0' \
        "$ROOT/kserve-client/target/surefire-reports/dev.roundhouse.client.NodeImageTest.txt" ||
        fail "NodeImageTest did not run although there is an engine"
    echo "NodeImageTest: passed with roundhouse-node:$IMAGES_TAG" >&2
}

# Has 'docker compose' work: by the plug-in that is installed, else by one that is built. Where neither can be,
# ROUNDHOUSE_E2E_NO_COMPOSE says why.
prepare_compose() { # FOLDER
    local built why own=${DOCKER_CONFIG:-${HOME:-/nonexistent}/.docker} entry
    docker compose version >&2 2>/dev/null && return
    if ! built=$("$ROOT/tools/kube/fetch" compose); then
        why=$(command -v go >/dev/null || echo "there is no 'go' to build it; install the plug-in, or Go 1.26 or newer")
        export ROUNDHOUSE_E2E_NO_COMPOSE="'docker compose version' fails, and ${why:-Go could not build it; its message is further up}"
    else
        # docker looks for plug-ins beside its configuration, which stays as it is
        mkdir -p "$1/cli-plugins"
        for entry in "$own"/* "$own"/cli-plugins/*; do
            [[ ! -e $entry || $entry == "$own/cli-plugins" ]] || ln -s "$(realpath "$entry")" "$1${entry#"$own"}"
        done
        ln -sf "$built/cli-plugins/docker-compose" "$1/cli-plugins/"
        export DOCKER_CONFIG=$1
        docker compose version >&2 || export ROUNDHOUSE_E2E_NO_COMPOSE="$built/cli-plugins/docker-compose does not run"
    fi
}

# An engine of our own, in a network of its own so that it changes none of the machine's.
start_engine() { # FOLDER
    local waited=0
    ENGINE_NETWORK=roundhouse-$$
    export DOCKER_HOST=unix://$1/docker.sock
    ip netns add "$ENGINE_NETWORK"
    ip -n "$ENGINE_NETWORK" link set lo up
    nsenter "--net=/run/netns/$ENGINE_NETWORK" dockerd --data-root "$1/data" --exec-root "$1/exec" \
        --pidfile "$1/pid" --host "$DOCKER_HOST" >"$CACHE/logs/dockerd.log" 2>&1 &
    ENGINE_PID=$!
    until docker_answers; do
        if ! kill -0 "$ENGINE_PID" 2>/dev/null || ((waited++ >= 120)); then
            tail -n 20 "$CACHE/logs/dockerd.log" >&2
            fail "dockerd did not start within a minute; its log is $CACHE/logs/dockerd.log"
        fi
        sleep 0.5
    done
    echo "started an engine of our own: DOCKER_HOST=$DOCKER_HOST" >&2
}

leave_engine() { # FOLDER
    set +e
    if [[ -z ${ENGINE_PID:-} ]]; then
        docker image ls --quiet --filter "reference=*:$IMAGES_TAG" | xargs -r docker image rm --force >/dev/null 2>&1
    else
        kill -TERM "$ENGINE_PID" 2>/dev/null
        wait "$ENGINE_PID" 2>/dev/null
        ip netns del "$ENGINE_NETWORK"
    fi
    rm -rf "$1"
}

# What images stand on, without a registry: a system like this machine's, and this machine's JDK on it.
local_bases() { # BASE JDK FOLDER
    local suite archive
    suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
    archive=$CACHE/image-base-$suite.tar
    if [[ ! -e $archive ]]; then
        echo "making a base image of $suite" >&2
        mmdebstrap --quiet --variant=minbase "$suite" "$archive.part.tar" || return
        mv "$archive.part.tar" "$archive"
    fi
    docker import "$archive" "$1" >/dev/null || return
    # its links lead out of it
    mkdir "$3/jdk"
    tar -C "$JAVA_HOME" --dereference --exclude=./lib/src.zip -cf "$3/jdk/jdk.tar" . || return
    # shellcheck disable=SC2016  # Dockerfile's variable
    printf 'FROM %s\nADD jdk.tar /opt/jdk/\nENV PATH=/opt/jdk/bin:$PATH\n' "$1" >"$3/jdk/Dockerfile"
    docker build --quiet --tag "$2" "$3/jdk" >/dev/null
}

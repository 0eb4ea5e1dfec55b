# shellcheck shell=bash
# image: container images, built from what this machine built.

IMAGES=(worker gateway node)
IMAGE_BASE=debian:13-slim
IMAGE_JDK=eclipse-temurin:25-jdk-noble
IMAGE_CUDA_BASE=nvidia/cuda:13.0.1-base-ubuntu24.04
IMAGE_CUDA=roundhouse-cuda

# What Spring needs, the compiler, and jcmd for whoever looks at a process that runs.
IMAGE_MODULES=java.base,java.compiler,java.desktop,java.instrument,java.logging,java.management,java.naming,java.net.http
IMAGE_MODULES+=,java.prefs,java.security.jgss,java.sql,java.xml,jdk.compiler,jdk.jcmd,jdk.jfr,jdk.management,jdk.net
IMAGE_MODULES+=,jdk.unsupported,jdk.zipfs

usage_image() {
    cat <<TXT
Usage: ./roundhouse image [worker] [gateway] [node] [OPTIONS]

Builds container images, all three if none is named: roundhouse-worker, roundhouse-gateway, roundhouse-node
(docs/images.md). The programs are built here as by ./roundhouse up; docker, podman or buildah makes the images.

  --variant cpu|cuda   what models run on (default cpu). With cuda $IMAGE_CUDA is built first, with the plugin and
                       NVIDIA's libraries, gigabytes of them. Not yet run on a GPU.
  --tag TAG            default: the version, with cuda followed by -cuda
  --repository PREFIX  before the names: registry.example/team makes registry.example/team/roundhouse-worker
  --base IMAGE         what the images stand on (default $IMAGE_BASE; with cuda $IMAGE_CUDA).
                       It needs bash, find, libstdc++ and a glibc that is not older than this machine's.
  --jdk IMAGE          JDK 25 that their Java is linked from (default $IMAGE_JDK)
  --engine NAME        docker, podman or buildah (default: the first of them that answers)
  --no-aot             without AOT caches: smaller, and starts take longer

  SOURCE_DATE_EPOCH    the date of images and, with podman and buildah, of their files (default: the commit's, and now)
TXT
}

command_image() {
    local images=() variant=cpu tag='' repository='' base='' jdk=$IMAGE_JDK engine='' aot=true name
    while (($# > 0)); do
        case $1 in
            -h | --help)
                usage_image
                return
                ;;
            worker | gateway | node) images+=("$1") ;;
            --no-aot) aot=false ;;
            --variant | --tag | --repository | --base | --jdk | --engine)
                (($# >= 2)) || misuse "$1 needs a value" image
                [[ -n $2 ]] || misuse "$1 needs a value, not an empty one" image
                case $1 in
                    --variant) variant=$2 ;;
                    --tag) tag=$2 ;;
                    --repository) repository=$2 ;;
                    --base) base=$2 ;;
                    --jdk) jdk=$2 ;;
                    --engine) engine=$2 ;;
                esac
                shift
                ;;
            *) misuse "image does not know '$1'; images are ${IMAGES[*]}" image ;;
        esac
        shift
    done
    [[ $variant == cpu || $variant == cuda ]] || misuse "--variant is cpu or cuda, not '$variant'" image
    [[ -z $tag || $tag =~ ^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$ ]] ||
        misuse "--tag takes letters, digits, '.', '_' and '-', not '$tag'" image
    ((${#images[@]} > 0)) || images=("${IMAGES[@]}")
    [[ -n $tag ]] || tag=$(project_version)$([[ $variant == cpu ]] || echo -cuda)
    choose_engine "$engine"
    [[ $ENGINE != docker ]] || quiet_builder

    local steps=$((5 + ${#images[@]}))
    [[ $variant == cuda && -z $base ]] && steps=$((steps + 1))
    begin_steps "$steps"
    ensure_jdk
    ensure_tools
    ensure_plugin
    ensure_all_built worker-service gateway-service node-supervisor
    begin_step "context"
    run_logged "$CACHE/logs/image-context.log" stage_context
    end_step "$CONTEXT"
    if [[ -z $base ]]; then
        base=$IMAGE_BASE
        if [[ $variant == cuda ]]; then
            base=$IMAGE_CUDA:$tag
            build_image "$base" "$ROOT/docker/cuda.Dockerfile" "$ROOT/docker" "CUDA_IMAGE=$IMAGE_CUDA_BASE"
        fi
    fi
    for name in "${images[@]}"; do
        local arguments=("BASE_IMAGE=$base" "JDK_IMAGE=$jdk" "MODULES=$IMAGE_MODULES" "AOT=$aot" "PLATFORM=$variant"
            "VERSION=$(project_version)" "REVISION=$(image_revision)" "CREATED=$(image_date)")
        [[ $variant == cpu ]] || arguments+=("PLUGIN=" "PLUGIN_FOLDER=no-plugin")
        build_image "${repository:+${repository%/}/}roundhouse-$name:$tag" "$ROOT/docker/Dockerfile" "$CONTEXT" \
            "${arguments[@]}" --target "$name"
    done
}

# Leaves the engine's command in ENGINE.
choose_engine() { # NAME, or empty
    local name
    case $1 in
        '')
            for name in docker podman buildah; do
                if engine_answers "$name"; then
                    ENGINE=$name
                    return
                fi
            done
            fail "no engine answers: install docker, podman or buildah, and see that '$(command -v docker >/dev/null && echo docker version || echo podman version)' works for this user"
            ;;
        docker | podman | buildah)
            engine_answers "$1" || fail "--engine $1: '$1 version' fails here; is it installed, and its daemon running?"
            ENGINE=$1
            ;;
        *) misuse "--engine is docker, podman or buildah, not '$1'" image ;;
    esac
}

engine_answers() { command -v "$1" >/dev/null && "$1" version >/dev/null 2>&1; }

# Without its plugin for builds docker has the older builder, which does as well.
quiet_builder() { docker buildx version >/dev/null 2>&1 || export DOCKER_BUILDKIT=0; }

# build_image NAME FILE CONTEXT BUILD-ARGUMENT... [--target STAGE]
build_image() {
    local name=$1 file=$2 context=$3 command=("$ENGINE" build)
    shift 3
    # health checks are no part of OCI's format, and layers of earlier builds are what make a build short
    [[ $ENGINE == docker ]] || command+=(--format docker --layers)
    # docker's newer builder takes it out of the environment
    [[ $ENGINE == docker || -z ${SOURCE_DATE_EPOCH:-} ]] || command+=(--timestamp "$SOURCE_DATE_EPOCH")
    command+=(--tag "$name" --file "$file")
    while (($# > 0)); do
        if [[ $1 == --target ]]; then
            command+=(--target "$2")
            shift
        else
            command+=(--build-arg "$1")
        fi
        shift
    done
    begin_step "$name"
    run_logged "$CACHE/logs/image-$(tr -c "[:alnum:].\n-" - <<<"${name##*/}").log" "${command[@]}" "$context"
    end_step "built"
}

# That of SOURCE_DATE_EPOCH, else the commit's, so that the same sources make the same label.
image_date() {
    local seconds=${SOURCE_DATE_EPOCH:-}
    [[ -n $seconds ]] || seconds=$(git -C "$ROOT" log -1 --format=%ct 2>/dev/null) || seconds=$(date -d "$(build_time)" +%s)
    date -u -d "@$seconds" +%Y-%m-%dT%H:%M:%SZ
}

image_revision() { git -C "$ROOT" rev-parse HEAD 2>/dev/null || echo unknown; }

CONTEXT=$ROOT/target/image

# Lays out what docker/Dockerfile copies. Times are those of the build, whenever that was: layers
# are the same for the same files, and an AOT cache fits jars of its own times only.
stage_context() {
    rm -rf "$CONTEXT"
    mkdir -p "$CONTEXT"/{dependencies,plugin/plugin,no-plugin,training/models} || return
    extract_layers "${JARS[0]}" worker-service "$CONTEXT/worker" || return
    extract_layers "${JARS[1]}" gateway-service "$CONTEXT/gateway" || return
    extract_layers "${JARS[2]}" node-supervisor "$CONTEXT/node" || return
    unpack_libraries "$CONTEXT" || return
    cp "$PLUGIN_DIRECTORY/xla_cpu_pjrt.so" "$CONTEXT/plugin/plugin/" || return
    cp "$ROOT/docker/train" "$CONTEXT/training/" || return
    cp -r "$ROOT/examples/models/scalar" "$CONTEXT/training/models/" || return
    chmod -R u=rwX,go=rX "$CONTEXT" || return
    find "$CONTEXT" -exec touch -d "$(build_time)" {} +
}

# Third-party libraries of all go to one folder, which the images share; ours stay with the application.
extract_layers() { # JAR MODULE FOLDER
    local part=$CONTEXT/extracted
    "$JAVA_HOME/bin/java" -Djarmode=tools -jar "$1" extract --layers --destination "$part" \
        --application-filename "$2.jar" || return
    mkdir -p "$CONTEXT/dependencies/lib" "$3/bin" || return
    cp -n "$part"/dependencies/lib/*.jar "$CONTEXT/dependencies/lib/" || return
    cp -r "$part/application/." "$3/" || return
    [[ ! -d $part/snapshot-dependencies ]] || cp -r "$part/snapshot-dependencies/." "$3/" || return
    rm -rf "$part"
    cp "$ROOT/docker/bin/${3##*/}" "$ROOT"/docker/bin/{common.sh,healthy} "$ROOT"/tools/cli/{terminal,memory,worker}.sh "$3/bin/"
}

# Native libraries out of their jars, so that nothing is unpacked to /tmp at the start.
unpack_libraries() { # CONTEXT
    python3 "$ROOT/docker/unpack_libraries.py" "$1/dependencies/native" "$1"/dependencies/lib/{netty-transport-native-epoll,jna}-[0-9]*.jar &&
        python3 "$ROOT/docker/unpack_libraries.py" "$1/worker/native" "$1"/worker/lib/pjrt-binding-*.jar
}

build_time() { sed -n 's/.*<project.build.outputTimestamp>\(.*\)<\/.*/\1/p' "$ROOT/pom.xml"; }

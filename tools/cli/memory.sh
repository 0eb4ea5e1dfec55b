# shellcheck shell=bash
# How a worker's memory is divided: from the container's limit to heap, direct memory and budget. docs/memory.md has the
# formula and a table; the two change together.

MEMORY_LEAST_MIB=1024
PROC_ROOT=/proc
CGROUP_ROOT=/sys/fs/cgroup

# Of a node, in MiB: the supervisor, and the gateway of several workers, each with what its JVM takes beside the heap.
NODE_MIB=192
GATEWAY_MIB=768
# shellcheck disable=SC2034  # for those who source this
NODE_OPTIONS=(-Xmx64m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:+ExitOnOutOfMemoryError)
# shellcheck disable=SC2034
GATEWAY_OPTIONS=(-Xmx256m -XX:MaxDirectMemorySize=256m -XX:+ExitOnOutOfMemoryError)

# Prints the MiB that this process may use: the least of its cgroups' limits (v2 or v1) and the machine's memory.
# ROUNDHOUSE_MEMORY_MIB says it instead.
memory_limit_mib() {
    local least limit file
    if [[ -n ${ROUNDHOUSE_MEMORY_MIB:-} ]]; then
        [[ $ROUNDHOUSE_MEMORY_MIB =~ ^[1-9][0-9]{0,8}$ ]] ||
            fail "ROUNDHOUSE_MEMORY_MIB takes a number of MiB, not '$ROUNDHOUSE_MEMORY_MIB'"
        echo "$ROUNDHOUSE_MEMORY_MIB"
        return
    fi
    least=$(($(sed -n 's/^MemTotal: *\([0-9]*\) kB$/\1/p' "$PROC_ROOT/meminfo") / 1024))
    while read -r file; do
        limit=$(cat "$file" 2>/dev/null || true)
        # v2 writes 'max' for no limit, v1 a number beyond any machine
        if [[ $limit =~ ^[0-9]{1,18}$ ]] && ((limit / 1048576 < least)); then
            least=$((limit / 1048576))
        fi
    done < <(memory_limit_files)
    echo "$least"
}

# The limits of this process's cgroup and of all above it: each of them counts. A container sees its own as the root.
memory_limit_files() {
    local path name
    while IFS=: read -r _ name path; do
        case ,$name, in
            ,,) cgroup_files "$CGROUP_ROOT" "$path" memory.max ;;
            *,memory,*) cgroup_files "$CGROUP_ROOT/memory" "$path" memory.limit_in_bytes ;;
        esac
    done <"$PROC_ROOT/self/cgroup"
}

cgroup_files() { # ROOT PATH FILE
    local path=${2%/}
    while true; do
        echo "$1$path/$3"
        [[ -n $path ]] || return 0
        path=${path%/*}
    done
}

clamp() { # VALUE LEAST MOST
    echo $(($1 < $2 ? $2 : $1 > $3 ? $3 : $1))
}

# size_memory MIB: leaves the parts, in MiB, in HEAP_MIB, DIRECT_MIB, QUEUED_MIB, UNREAD_MIB, MESSAGE_MIB and
# WEIGHTS_MIB.
size_memory() {
    local rest
    (($1 >= MEMORY_LEAST_MIB)) ||
        fail "a worker needs $MEMORY_LEAST_MIB MiB and may use $1 MiB here; raise the container's memory limit" \
            "(ROUNDHOUSE_MEMORY_MIB overrides what was found)"
    rest=$(($1 - 256 - $1 / 16))
    HEAP_MIB=$(clamp $((rest / 5)) 192 8192)
    DIRECT_MIB=$(clamp $((rest / 8)) 128 5120)
    QUEUED_MIB=$((HEAP_MIB / 2))
    UNREAD_MIB=$((QUEUED_MIB / 2))
    MESSAGE_MIB=$(clamp $((DIRECT_MIB / 3)) 1 512)
    WEIGHTS_MIB=$((rest - HEAP_MIB - DIRECT_MIB - QUEUED_MIB))
}

# Leaves the JVM's options in MEMORY_OPTIONS. The last four sizes are defaults: configuration wins over them.
memory_options() {
    local limit
    limit=$(memory_limit_mib) || exit
    size_memory "$limit"
    # shellcheck disable=SC2034  # for those who source this
    MEMORY_OPTIONS=("-Xmx${HEAP_MIB}m" "-XX:MaxDirectMemorySize=${DIRECT_MIB}m" -XX:+ExitOnOutOfMemoryError
        "-Dlauncher.max-queued-bytes=${QUEUED_MIB}MB" "-Dlauncher.max-unread=${UNREAD_MIB}MB"
        "-Dlauncher.max-message-size=${MESSAGE_MIB}MB" "-Dlauncher.max-program-memory=${WEIGHTS_MIB}MB")
}

# node_memory WORKERS: leaves in MEMORY_OPTIONS those of each of a node's workers, before which there is a gateway if they are several.
node_memory() {
    local limit share
    limit=$(memory_limit_mib) || exit
    if (($1 == 1)); then
        ROUNDHOUSE_MEMORY_MIB=$((limit - NODE_MIB)) memory_options
        return
    fi
    share=$(((limit - NODE_MIB - GATEWAY_MIB) / $1))
    ((share >= MEMORY_LEAST_MIB)) ||
        fail "$1 workers need $(($1 * MEMORY_LEAST_MIB + NODE_MIB + GATEWAY_MIB)) MiB with their gateway and may use" \
            "$limit MiB here; start fewer, or raise the container's memory limit (ROUNDHOUSE_MEMORY_MIB overrides what was found)"
    ROUNDHOUSE_MEMORY_MIB=$share memory_options
}

# Leaves the options of a gateway that has the container to itself in MEMORY_OPTIONS: those of GATEWAY_OPTIONS, and
# what there is beyond GATEWAY_MIB divided among heap and direct memory.
gateway_memory() {
    local limit each
    limit=$(memory_limit_mib) || exit
    ((limit >= GATEWAY_MIB)) ||
        fail "a gateway needs $GATEWAY_MIB MiB and may use $limit MiB here; raise the container's memory limit" \
            "(ROUNDHOUSE_MEMORY_MIB overrides what was found)"
    each=$(clamp $((256 + (limit - GATEWAY_MIB) / 2 - limit / 16)) 256 4096)
    # shellcheck disable=SC2034  # for those who source this
    MEMORY_OPTIONS=("-Xmx${each}m" "-XX:MaxDirectMemorySize=${each}m" -XX:+ExitOnOutOfMemoryError)
}

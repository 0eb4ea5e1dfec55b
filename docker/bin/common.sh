# shellcheck shell=bash
# How a container's programs become Java. The formula is the launcher's own (tools/cli/memory.sh).

APPLICATION=/opt/roundhouse
RUNTIME=/opt/java
CLI=$APPLICATION/bin

# shellcheck source=tools/cli/terminal.sh
source "$CLI/terminal.sh"
# shellcheck source=tools/cli/memory.sh
source "$CLI/memory.sh"
# shellcheck source=tools/cli/worker.sh
source "$CLI/worker.sh"

# become_java APPLICATION JVM-OPTION... -- ARGUMENT...
become_java() {
    local name=$1 options=()
    shift
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    shift
    # libraries lie in the image, so that a /tmp which forbids execution will do
    options+=("-Djava.library.path=$APPLICATION/native" "-Droundhouse.pjrt.library=$APPLICATION/native/libroundhouse_pjrt.so")
    options+=("-Djna.boot.library.path=$APPLICATION/native" -Djna.nounpack=true)
    # without a cache that fits, Java starts all the same
    if [[ ${ROUNDHOUSE_AOT_TRAIN:-} == "$name" ]]; then
        options+=("-XX:AOTCacheOutput=$APPLICATION/$name.aot")
    elif [[ -e $APPLICATION/$name.aot ]]; then
        options+=("-XX:AOTCache=$APPLICATION/$name.aot")
    fi
    exec "$RUNTIME/bin/java" "${options[@]}" -jar "$APPLICATION/$name.jar" "$@"
}

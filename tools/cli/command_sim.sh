# shellcheck shell=bash
# sim: the engine under simulated traffic. The program checks its own options; its help is a file of its sources.

usage_sim() { cat "$ROOT/simulation/src/main/resources/dev/roundhouse/simulation/usage.txt"; }

command_sim() {
    local argument
    for argument; do
        case $argument in
            -h | --help)
                usage_sim
                return
                ;;
        esac
    done
    begin_steps 3
    ensure_jdk
    ensure_tools
    ensure_built simulation
    exec "$JAVA_HOME/bin/java" "${WORKER_OPTIONS[@]}" -XX:+UseSerialGC -jar "$JAR" "$@"
}

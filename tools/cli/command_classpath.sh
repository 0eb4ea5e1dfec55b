# shellcheck shell=bash
# classpath: what docs/client.md and docs/embedding.md call $CLASS_PATH.

usage_classpath() {
    cat <<'TXT'
Usage: ./roundhouse classpath client|engine

Builds what changed and prints a class path on one line, for a program of yours:

  client   the client for the JVM (docs/client.md)
  engine   the engine with its device binding, embedded (docs/embedding.md)

  CLASS_PATH=$(./roundhouse classpath client)
  java -cp "$CLASS_PATH" Example.java localhost:8001
TXT
}

command_classpath() {
    local modules
    case ${1:-} in
        -h | --help)
            usage_classpath
            return
            ;;
        client) modules=(kserve-client) ;;
        engine) modules=(inference-engine pjrt-binding) ;;
        '') misuse "classpath takes client or engine" classpath ;;
        *) misuse "classpath takes client or engine, not '$1'" classpath ;;
    esac
    (($# == 1)) || misuse "classpath takes one word, client or engine" classpath
    begin_steps 4
    ensure_jdk
    ensure_tools
    ensure_plugin # its header, which the binding is compiled against, and what runs the models
    ensure_class_path "${modules[@]}"
    echo "$CLASS_PATH"
}

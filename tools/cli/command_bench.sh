# shellcheck shell=bash
# bench: figures as ratios to a peer measured in the same run.

usage_bench() {
    cat <<'TXT'
Usage: ./roundhouse bench NAME [--quick] [--json]

Builds the benchmarks and runs one of them; prints a table of ours, the peer's, their ratio and the goal.

  first-light   execute through JNI against the same call from C++; ModelInfer against a bare gRPC echo

  --quick       shorter runs: the shape of the result, not figures to quote
  --json        one object per line: {"bench","cell","ours","peer","unit","ratio","goal","met"}
TXT
}

command_bench() {
    local name='' options=()
    while (($# > 0)); do
        case $1 in
            -h | --help)
                usage_bench
                return
                ;;
            --quick | --json) options+=("$1") ;;
            -*) misuse "bench does not know '$1'" bench ;;
            *)
                [[ -z $name ]] || misuse "bench takes one name, got '$name' and '$1'" bench
                name=$1
                ;;
        esac
        shift
    done
    case $name in
        first-light) ;;
        '') misuse "bench needs a name" bench ;;
        *) misuse "there is no bench '$name'; there is: first-light" bench ;;
    esac
    begin_steps 4
    prepare benchmarks
    exec "$JAVA_HOME/bin/java" "${WORKER_OPTIONS[@]}" -jar "$JAR" "$name" "${options[@]}"
}

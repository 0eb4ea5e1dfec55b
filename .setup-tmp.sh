#!/usr/bin/env bash
# The one entry point: sets the machine up, builds, runs, tests. Each command lives in tools/cli/command_NAME.sh.
set -euo pipefail

ROOT=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
CACHE=${ROUNDHOUSE_CACHE:-${XDG_CACHE_HOME:-${HOME:?set HOME, ROUNDHOUSE_CACHE or XDG_CACHE_HOME}/.cache}/roundhouse}
CLI=$ROOT/tools/cli

# shellcheck source=tools/cli/terminal.sh
source "$CLI/terminal.sh"
# shellcheck source=tools/cli/child.sh
source "$CLI/child.sh"
# shellcheck source=tools/cli/jdk.sh
source "$CLI/jdk.sh"
# shellcheck source=tools/cli/tools.sh
source "$CLI/tools.sh"
# shellcheck source=tools/cli/plugin.sh
source "$CLI/plugin.sh"
# shellcheck source=tools/cli/build.sh
source "$CLI/build.sh"
# shellcheck source=tools/cli/python.sh
source "$CLI/python.sh"
# shellcheck source=tools/cli/ports.sh
source "$CLI/ports.sh"
# shellcheck source=tools/cli/memory.sh
source "$CLI/memory.sh"
# shellcheck source=tools/cli/worker.sh
source "$CLI/worker.sh"

usage() {
    cat <<'TXT'
Usage: ./roundhouse COMMAND [OPTIONS]

  up       set this machine up, build, and serve the sample models in the foreground
  import   make a bundle from a model: ONNX, PyTorch, Keras, scikit-learn, JAX, or a Triton repository
  test     run everything CI runs; --quick for the part that takes minutes
  demo     show a model at work through a server: ./roundhouse demo list
  doctor   say what is missing on this machine and the command that fixes it
  bench    measure, and print the ratios against a peer
  classpath
           print the class path of the client or the engine, for a program of yours
  top      what the device does and why models wait, in a terminal
  sim      the engine under simulated traffic: thousands of models, a minute in seconds
  image    build container images
  token    make a bearer token, and the line by which servers know it
  gpu-pack make one folder that checks and measures a GPU wherever there is one

  ./roundhouse COMMAND --help    the options of one command
  ./roundhouse --version

Downloads and Python environments are kept in ${ROUNDHOUSE_CACHE:-~/.cache/roundhouse}.
TXT
}

main() {
    local command=${1:-}
    case $command in
        up | import | test | demo | doctor | bench | classpath | top | sim | image | token | gpu-pack)
            shift
            command=${command//-/_}
            # shellcheck disable=SC1090  # one of the names above
            source "$CLI/command_$command.sh"
            "command_$command" "$@"
            ;;
        --version) echo "roundhouse $(project_version)" ;;
        -h | --help | help) usage ;;
        '')
            usage >&2
            return 2
            ;;
        *)
            complain "unknown command '$command'"
            usage >&2
            return 2
            ;;
    esac
}

source "$CLI/command_test.sh"; begin_steps 5; prepare_clients
ensure_all_built worker-service gateway-service node-supervisor
export ROUNDHOUSE_E2E_JAR=${JARS[0]}
cd "$ROOT/e2e-tests"; ROUNDHOUSE_E2E_TRAINED=$(mktemp -d); export ROUNDHOUSE_E2E_TRAINED
"$E2E_PYTHON" -m pytest -q -p no:cacheprovider --durations=5 "$@"; code=$?
rm -r "$ROUNDHOUSE_E2E_TRAINED"; rm -f "$ROOT/.setup-tmp.sh"; exit $code

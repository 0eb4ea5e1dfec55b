# shellcheck shell=bash
# import: a bundle from a model of any kind.

# shellcheck source=tools/cli/exporter.sh
source "$CLI/exporter.sh"

usage_import() {
    cat <<'TXT'
Usage: ./roundhouse import SOURCE [--models DIR] [OPTIONS]

Makes a bundle from a model, and compares its numbers with the model's own. SOURCE is

  model.onnx                     an ONNX file
  package.module:attribute       a Python object: a PyTorch, Flax, Equinox or Keras model, a JAX function, an estimator
  model.pt2, model.pt            a program of torch.export, TorchScript
  model.joblib, .skops, .keras   an estimator, a Keras archive
  REPOSITORY/MODEL               a model of a Triton repository
  REPOSITORY                     all models of a Triton repository, or a folder of .onnx files; with --trust its
                                 TorchScript too

What it needs of Python packages is installed into the cache, once for each kind; PyTorch's are about 8 GB.

  --models DIR      where bundles go, each in a folder of its name (default: models, where you are)
  --help-exporter   the exporter's options, all of which may be given here: --axis, --input, --batch-sizes, --wide, ...
TXT
}

command_import() {
    local source='' models=models exporter_help='' options=() trust=() extra code=0
    while (($# > 0)); do
        case $1 in
            -h | --help)
                usage_import
                return
                ;;
            --help-exporter)
                exporter_help=yes
                shift
                ;;
            --models)
                (($# >= 2)) || misuse "--models needs a value" import
                models=$2
                shift 2
                ;;
            --trust)
                options+=("$1")
                trust=("$1")
                shift
                ;;
            --tune | --text | --as-lowered | --no-check | --json | --*=*)
                options+=("$1")
                shift
                ;;
            --*)
                (($# >= 2)) || misuse "$1 needs a value" import
                options+=("$1" "$2")
                shift 2
                ;;
            *)
                [[ -z $source ]] || misuse "import takes one source, got '$source' and '$1'" import
                source=$1
                shift
                ;;
        esac
    done
    if [[ -n $exporter_help ]]; then
        begin_steps 1
        ensure_exporter jax
        run_exporter export --help
        return
    fi
    [[ -n $source ]] || misuse "import needs a source" import
    begin_steps 1
    extra=$(PYTHONPATH=$EXPORT_SOURCES python3 -m roundhouse_export.sources "$source" "${trust[@]}") || return
    ensure_exporter "$extra"
    if [[ -d $source && ! -e $source/config.pbtxt ]] && has_foreign_models "$source"; then
        run_exporter repository "$source" --out "$models" "${options[@]}" || code=$?
        ((code > 1)) || printf 'serve them with: ./roundhouse up --models %q\n' "$models" >&2
        return "$code"
    fi
    run_exporter "$source" --out "$models" "${options[@]}"
}

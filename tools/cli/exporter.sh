# shellcheck shell=bash
# The exporter, tools/model-export, in an environment with what a kind of source needs.

EXPORT_SOURCES=$ROOT/tools/model-export/src

# Step: the environment for an extra of the exporter; leaves its Python in EXPORT_PYTHON.
ensure_exporter() { # EXTRA
    local lock=$ROOT/tools/model-export/locks/$1.lock tool
    [[ -e $lock ]] || fail "models that need '$1' cannot be converted by this version: it has no $lock"
    for tool in python3 pip venv; do
        has_tool "$tool" || fail "$tool is not there; ./roundhouse doctor says what installs it"
    done
    if [[ $1 == torch ]] && ! compgen -G "$CACHE/venv-export-torch-*/.complete" >/dev/null; then
        complain "PyTorch is downloaded now, which is done once: 4 GB, and 8 GB in $CACHE"
    fi
    ensure_venv "export-$1" "$lock"
    EXPORT_PYTHON=$VENV/bin/python
}

# Runs the exporter as this command's child; returns its exit code.
run_exporter() { # ARGUMENTS...
    local code=0
    set -m
    PYTHONPATH=$EXPORT_SOURCES${PYTHONPATH:+:$PYTHONPATH} "$EXPORT_PYTHON" -m roundhouse_export "$@" </dev/null &
    CHILD=$!
    set +m
    wait "$CHILD" || code=$?
    CHILD=
    return "$code"
}

# Whether a folder has models that are no bundles: .onnx files, or models of a Triton repository.
has_foreign_models() { # DIR
    local pattern
    for pattern in '*.onnx' '*/config.pbtxt' '*/[1-9]*/model.'{onnx,pt,plan,savedmodel,graphdef,xml}; do
        ! compgen -G "$1/$pattern" >/dev/null || return 0
    done
    return 1
}

is_bundle() { # DIR
    [[ -e $1/manifest.yaml ]] || compgen -G "$1/[1-9]*/manifest.yaml" >/dev/null
}

# Two steps: makes bundles of what changed in a folder, in one of the cache, which also has links to the bundles of the
# folder; leaves it in CONVERTED. A model that is refused keeps the others from nothing.
convert_models() { # DIR OPTIONS...
    local source=$1 code=0
    shift
    CONVERTED=$CACHE/imported/$(printf '%s' "$source" | sha256sum | cut -c1-16)
    ensure_exporter triton
    drop_links "$CONVERTED"
    begin_step "convert what changed in $source"
    printf '\n' >&2
    run_exporter repository "$source" --out "$CONVERTED" "$@" >&2 || code=$?
    ((code <= 1)) || fail "$source was not converted"
    link_bundles "$source" "$CONVERTED"
    complain "serving $CONVERTED, made from $source; changes there are seen at the next start"
}

# Removes links to what is no bundle any more; a model of that name may be converted now.
drop_links() { # DIR
    local each
    for each in "$1"/*; do
        [[ ! -L $each ]] || is_bundle "$each" || rm "$each"
    done
}

# Bundles of one folder are seen in another.
link_bundles() { # FROM TO
    local each name
    for each in "$1"/*; do
        name=${each##*/}
        if [[ -d $each ]] && is_bundle "$each" && [[ ! -e $2/$name ]]; then
            ln -s "$each" "$2/$name"
        fi
    done
}

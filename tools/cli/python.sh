# shellcheck shell=bash
# Python environments, made once per set of requirements and kept in the cache.

# ensure_venv NAME REQUIREMENTS...: leaves the environment's folder in VENV.
ensure_venv() {
    local name=$1 key
    shift
    key=$({ python3 --version && cat "$@" && named_constraints "$@"; } | sha256sum | cut -c1-12)
    VENV=$CACHE/venv-$name-$key
    begin_step "Python environment '$name'"
    if [[ -e $VENV/.complete ]]; then
        end_step "found $VENV"
        return
    fi
    mkdir -p "$CACHE"
    run_logged "$CACHE/logs/venv-$name.log" flock "$CACHE/venv-$name.lock" \
        bash -euc "$(declare -f create_venv); create_venv \"\$@\"" create_venv "$VENV" "$@"
    end_step "made $VENV"
}

# Prints the files that requirements name by -c, whose versions an environment has too.
named_constraints() { # REQUIREMENTS...
    local file named
    for file in "$@"; do
        while read -r named; do
            cat "$(dirname "$file")/$named"
        done < <(sed -n 's/^-c *//p' "$file")
    done
}

# create_venv FOLDER REQUIREMENTS...: runs under a lock; a half-made one from an earlier try is replaced.
create_venv() {
    local folder=$1 arguments=() file
    shift
    [[ ! -e $folder/.complete ]] || return 0
    for file in "$@"; do
        arguments+=(-r "$file")
    done
    rm -rf "$folder"
    python3 -m venv "$folder"
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-input "${arguments[@]}"
    touch "$folder/.complete"
}

# shellcheck shell=bash
# Python environments, made once per lock and kept in the cache. Locks are written by tools/pins/lock_python.py.

# ensure_venv NAME LOCK: leaves the environment's folder in VENV.
ensure_venv() {
    local name=$1 lock=$2 key
    key=$({ python3 --version && cat "$lock"; } | sha256sum | cut -c1-12)
    VENV=$CACHE/venv-$name-$key
    begin_step "Python environment '$name'"
    if [[ -e $VENV/.complete ]]; then
        end_step "found $VENV"
        return
    fi
    mkdir -p "$CACHE"
    run_logged "$CACHE/logs/venv-$name.log" flock "$CACHE/venv-$name.lock" \
        bash -euc "$(declare -f create_venv); create_venv \"\$@\"" create_venv "$VENV" "$lock"
    end_step "made $VENV"
}

# create_venv FOLDER LOCK: runs under a lock; a half-made one from an earlier try is replaced.
create_venv() {
    [[ ! -e $1/.complete ]] || return 0
    rm -rf "$1"
    python3 -m venv "$1"
    "$1/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --require-hashes -r "$2"
    touch "$1/.complete"
}

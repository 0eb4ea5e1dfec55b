# shellcheck shell=bash
# What a person reads: numbered steps with their seconds, and errors. All of it goes to stderr, so that stdout stays
# for results.

STEP_TOTAL=0
STEP_NUMBER=0
STEP_LABEL=
STEP_STARTED=0
STEP_NOTED=

complain() { printf 'roundhouse: %s\n' "$*" >&2; }

fail() {
    complain "$@"
    exit 1
}

# A wrong command line: exit code 2, as for every command of this script.
misuse() {
    complain "$1 (see ./roundhouse $2 --help)"
    exit 2
}

tenths_now() { echo $((${EPOCHREALTIME/[.,]/} / 100000)); }

# Prints "12.3" for the tenths of a second since $1.
seconds_since() {
    local tenths=$(($(tenths_now) - $1))
    echo "$((tenths / 10)).$((tenths % 10))"
}

begin_steps() {
    STEP_TOTAL=$1
    STEP_NUMBER=0
}

begin_step() {
    STEP_NUMBER=$((STEP_NUMBER + 1))
    STEP_LABEL=$1
    STEP_STARTED=$(tenths_now)
    STEP_NOTED=
    printf '[%d/%d] %s … ' "$STEP_NUMBER" "$STEP_TOTAL" "$STEP_LABEL" >&2
}

# Redraws the running step's line with its seconds; only a terminal can show that.
tick_step() {
    if [[ -t 2 ]]; then
        printf '\r[%d/%d] %s … %d s ' "$STEP_NUMBER" "$STEP_TOTAL" "$STEP_LABEL" \
            "$((($(tenths_now) - STEP_STARTED) / 10))" >&2
    fi
}

# A line below the running step's, of what it has come to.
note_step() {
    if [[ -t 2 ]]; then
        printf '\r\033[K      %s\n' "$1" >&2
        tick_step
    else
        printf '\n      %s' "$1" >&2
        STEP_NOTED=yes
    fi
}

end_step() {
    if [[ -t 2 ]]; then
        printf '\r[%d/%d] %s … ' "$STEP_NUMBER" "$STEP_TOTAL" "$STEP_LABEL" >&2
    elif [[ -n $STEP_NOTED ]]; then
        printf '\n      ' >&2
    fi
    printf '%s (%s s)\n' "$1" "$(seconds_since "$STEP_STARTED")" >&2
}

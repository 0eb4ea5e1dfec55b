# shellcheck shell=bash
# top: the live page's facts in a terminal.

usage_top() {
    cat <<'TXT'
Usage: ./roundhouse top [ADDRESS] [OPTIONS]

Shows what the device does and why models wait, each second, as the live page does (docs/ui.md). ADDRESS is the
management port of a worker, a node or a gateway: host:port, a port of this machine, or nothing for localhost:8002.

  --worker NAME    which worker, at a node or a gateway that has several
  --sort COLUMN    model, state, queue (the default), due, had, place, next or waits: rows' order
  --filter WORDS   only models with all these words in name, state, place or reason
  --once           prints one table as text, of all models, and ends

In a terminal: q ends, s sorts by the next column, p pauses. Anywhere else a table is printed each second. Needs
python3, and nothing beside it.
TXT
}

command_top() {
    local address='' options=()
    while (($# > 0)); do
        case $1 in
            -h | --help)
                usage_top
                return
                ;;
            --once) options+=("$1") ;;
            --worker | --sort | --filter)
                (($# >= 2)) || misuse "$1 needs a value" top
                [[ $1 != --sort || $2 =~ ^(model|state|queue|due|had|place|next|waits)$ ]] ||
                    misuse "--sort takes model, state, queue, due, had, place, next or waits, not '$2'" top
                options+=("$1=$2")
                shift
                ;;
            -*) misuse "top does not know '$1'" top ;;
            *)
                [[ -z $address ]] || misuse "top takes one address, got '$address' and '$1'" top
                address=$1
                ;;
        esac
        shift
    done
    [[ $address =~ ^[0-9]+$ ]] && address=localhost:$address
    [[ -z $address || $address =~ ^[^/]+:[0-9]{1,5}$ ]] || misuse "top takes an address as host:port, not '$address'" top
    has_tool python3 || fail "python3 is not there; ./roundhouse doctor says what installs it"
    exec python3 -B "$CLI/top" "${address:-localhost:8002}" "${options[@]}"
}

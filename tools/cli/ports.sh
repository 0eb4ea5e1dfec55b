# shellcheck shell=bash
# TCP ports, read from the kernel's own table: nothing is connected to.

port_in_use() {
    grep -qiE "^ *[0-9]+: [0-9A-F]+:$(printf '%04X' "$1") [0-9A-F]+:0000 0A " /proc/net/tcp /proc/net/tcp6 2>/dev/null
}

# check_port NAME VALUE COMMAND
check_port() {
    if [[ ! $2 =~ ^[0-9]{1,5}$ ]] || ((10#$2 > 65535)); then
        misuse "$1 takes a port from 0 to 65535 (0: any free one), not '$2'" "$3"
    fi
}

# require_free FLAG PORT: names the port and the flag that moves it.
require_free() {
    if (($2 != 0)) && port_in_use "$2"; then
        fail "port $2 is already in use; stop what listens there, or choose another with $1 PORT"
    fi
}

# A port nobody listens on right now.
free_port() {
    local port
    while true; do
        port=$((20000 + RANDOM % 10000))
        if ! port_in_use "$port"; then
            echo "$port"
            return
        fi
    done
}

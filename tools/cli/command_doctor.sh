# shellcheck shell=bash
# doctor: what this machine has, what is missing, and the command that brings it.

usage_doctor() {
    cat <<'TXT'
Usage: ./roundhouse doctor

Looks at the JDK, the build tools, the cached plugin, ports and memory. For each missing thing it prints the command
that fixes it. Exit code 1 when something required is missing. Changes nothing.
TXT
}

DOCTOR_MISSING=0

command_doctor() {
    case ${1:-} in
        '') ;;
        -h | --help)
            usage_doctor
            return
            ;;
        *) misuse "doctor does not know '$1'" doctor ;;
    esac
    examine_system
    examine_jdk
    examine_tools
    examine_plugin
    examine_ports
    examine_memory
    if ((DOCTOR_MISSING > 0)); then
        printf '\n%d required: missing. ./roundhouse up installs what apt has; the rest is up to you.\n' "$DOCTOR_MISSING"
        return 1
    fi
    printf '\nEverything required is here.\n'
}

report() { printf '%-8s %-14s %s\n' "$1" "$2" "$3"; }

report_missing() { # WHAT WHY FIX
    report MISSING "$1" "$2"
    printf '%-23s fix: %s\n' '' "$3"
    DOCTOR_MISSING=$((DOCTOR_MISSING + 1))
}

examine_system() {
    report info system "$(distribution_name), $(uname -m), $(nproc) cores"
    case $(uname -sm) in
        'Linux x86_64' | 'Linux aarch64') ;;
        *) report_missing platform "the CPU plugin exists for Linux on x86_64 and aarch64" "use such a machine" ;;
    esac
}

examine_jdk() {
    local home
    if home=$(find_jdk); then
        report ok "JDK $JDK_FEATURE" "$home ($(jdk_version "$home"))"
    else
        report_missing "JDK $JDK_FEATURE" "not in JAVA_HOME, /usr/lib/jvm or PATH (javac is needed, a runtime is not enough)" \
            "$(jdk_advice)"
    fi
}

examine_tools() {
    local entry tool
    for entry in "${BUILD_TOOLS[@]}"; do
        tool=${entry%%:*}
        if has_tool "$tool"; then
            report ok "$tool" "$(tool_version "$tool")"
        else
            report_missing "$tool" "not found" "$(as_root_prefix)apt-get install -y ${entry#*:}"
        fi
    done
}

examine_plugin() {
    local found=("$CACHE"/pjrt/*/xla_cpu_pjrt.so) verdict
    if [[ ! -e ${found[0]} ]]; then
        report note "PJRT plugin" "not in $CACHE/pjrt yet; ./roundhouse up fetches it, or now: tools/pjrt-plugin/fetch"
    elif verdict=$("$ROOT/tools/pjrt-plugin/fetch" --verify 2>&1); then
        report ok "PJRT plugin" "${verdict##*$'\n'} (sha256 checked)"
    else
        report_missing "PJRT plugin" "${verdict##*$'\n'}" "rm -r $(dirname "${found[0]}") && tools/pjrt-plugin/fetch"
    fi
}

examine_ports() {
    local entry port flag
    for entry in 8000:--http-port 8001:--grpc-port 8002:--metrics-port; do
        port=${entry%%:*}
        flag=${entry#*:}
        if port_in_use "$port"; then
            report note "port $port" "in use; stop what listens there or give ./roundhouse up another: $flag PORT"
        else
            report ok "port $port" free
        fi
    done
}

examine_memory() {
    local megabytes
    megabytes=$(($(sed -n 's/^MemAvailable: *\([0-9]*\) kB$/\1/p' /proc/meminfo) / 1024))
    if ((megabytes < 2048)); then
        report note memory "$megabytes MiB available; building and serving the samples wants 2048 MiB"
    else
        report ok memory "$megabytes MiB available"
    fi
}

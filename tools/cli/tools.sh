# shellcheck shell=bash
# Build tools that Debian and Ubuntu carry: which are missing, and their installation by apt.

# command:package, in the order doctor prints them
BUILD_TOOLS=(g++:g++ cmake:cmake ninja:ninja-build mvn:maven python3:python3 pip:python3-pip venv:python3-venv)

has_tool() {
    case $1 in
        pip) python3 -m pip --version >/dev/null 2>&1 ;;
        venv) python3 -c 'import ensurepip, venv' >/dev/null 2>&1 ;;
        *) command -v "$1" >/dev/null 2>&1 ;;
    esac
}

tool_version() {
    case $1 in
        pip) python3 -m pip --version | cut -d' ' -f2 ;;
        venv) python3 -c 'import ensurepip; print("pip " + ensurepip.version())' ;;
        mvn) mvn -B --version | sed -n 's/.*Apache Maven \([0-9.]*\).*/\1/p' ;;
        *) "$1" --version 2>/dev/null | sed -n '1s/[^0-9]*\([0-9][0-9.]*\).*/\1/p' ;;
    esac
}

# Prints the packages of the tools that are not there, one a line.
missing_packages() {
    local entry
    for entry in "${BUILD_TOOLS[@]}"; do
        has_tool "${entry%%:*}" || echo "${entry#*:}"
    done
}

distribution_name() {
    # shellcheck disable=SC1091  # the machine's own description
    (. /etc/os-release 2>/dev/null && echo "${PRETTY_NAME:-this system}") || echo "this system"
}

has_apt() { command -v apt-get >/dev/null 2>&1; }

as_root_prefix() { [[ $(id -u) == 0 ]] || echo "sudo "; }

package_available() {
    has_apt && apt-cache policy "$1" 2>/dev/null | grep -q '^ *Candidate: *[^( ]'
}

as_root() {
    if [[ $(id -u) == 0 ]]; then
        run_logged "$CACHE/logs/apt.log" env DEBIAN_FRONTEND=noninteractive "$@"
    else
        command -v sudo >/dev/null || fail "'$*' needs root and there is no sudo here; run it as root, then try again"
        sudo -v || fail "'$*' needs root; run it as root, then try again"
        run_logged "$CACHE/logs/apt.log" sudo -n env DEBIAN_FRONTEND=noninteractive "$@"
    fi
}

PACKAGE_LISTS_FRESH=
refresh_package_lists() {
    if has_apt && [[ -z $PACKAGE_LISTS_FRESH ]]; then
        as_root apt-get update -q
        PACKAGE_LISTS_FRESH=yes
    fi
}

install_packages() {
    has_apt || fail "$(distribution_name) has no apt-get; install what Debian calls: $*"
    refresh_package_lists
    as_root apt-get install -q -y --no-install-recommends "$@"
}

# Step: every build tool is there.
ensure_tools() {
    local packages
    begin_step "build tools"
    mapfile -t packages < <(missing_packages)
    if ((${#packages[@]} == 0)); then
        end_step "found"
    else
        install_packages "${packages[@]}"
        mapfile -t packages < <(missing_packages)
        ((${#packages[@]} == 0)) || fail "still missing after installation: ${packages[*]}; see ./roundhouse doctor"
        end_step "installed"
    fi
}

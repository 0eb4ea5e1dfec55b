# shellcheck shell=bash
# Prometheus beside the server that 'up' starts: it scrapes it, evaluates our rules, and ends with it.

OBSERVE_RULES=$ROOT/helm/roundhouse/files/observe/rules.yaml

# Step: there is a Prometheus, the machine's or the distribution's out of its package, which is not installed (its
# package starts a service). Leaves its program in PROMETHEUS.
ensure_prometheus() {
    begin_step "Prometheus"
    if PROMETHEUS=$(command -v prometheus); then
        end_step "found $PROMETHEUS"
        return
    fi
    PROMETHEUS=$CACHE/prometheus/usr/bin/prometheus
    if [[ -x $PROMETHEUS ]]; then
        end_step "found $PROMETHEUS"
        return
    fi
    if ! has_apt || ! command -v dpkg-deb >/dev/null; then
        printf 'FAILED\n' >&2
        fail "there is no 'prometheus' on PATH, which --observe needs, and no apt-get to fetch it with;" \
            "put that program of a release of Prometheus, 2.42 or later, on PATH, or leave --observe out"
    fi
    run_logged "$CACHE/logs/prometheus-package.log" fetch_prometheus
    end_step "$PROMETHEUS"
}

# Filled under another name, so that nobody finds half of it.
fetch_prometheus() {
    local scratch
    mkdir -p "$CACHE"
    scratch=$(mktemp -d "$CACHE/prometheus.XXXXXX")
    # shellcheck disable=SC2064  # the folder's name now
    trap "rm -rf '$scratch'" EXIT
    cd "$scratch" || return
    apt-get -o APT::Sandbox::User=root download prometheus || {
        echo "no package 'prometheus' could be fetched: run 'apt-get update' as root and try again, or put the program" \
            "'prometheus' of a release, 2.42 or later, on PATH"
        return 1
    }
    dpkg-deb --extract prometheus_*.deb made
    mv -T made "$CACHE/prometheus" 2>/dev/null || [[ -x $CACHE/prometheus/usr/bin/prometheus ]] # another may have been faster
}

# start_observer PORT METRICS_PORT: Prometheus on PORT, or any free one for 0, until this process ends, whatever
# program it is by then; tells where on stdout.
start_observer() {
    local port=$1 waited=0 log folder
    (($1 != 0)) || port=$(free_port)
    log=$CACHE/logs/prometheus-$port.log
    folder=$(mktemp -d "${TMPDIR:-/tmp}/roundhouse-observe.XXXXXX")
    mkdir -p "$(dirname "$log")"
    cat >"$folder/prometheus.yaml" <<YAML
global: {scrape_interval: 5s, scrape_timeout: 5s, evaluation_interval: 5s}
rule_files: ['$OBSERVE_RULES']
scrape_configs:
  - job_name: roundhouse
    metrics_path: /metrics
    static_configs: [{targets: ['127.0.0.1:$2']}]
YAML
    set -m # its own process group: Ctrl-C is for the server, which it ends after
    observe "$$" "$port" "$folder" </dev/null >"$log" 2>&1 &
    set +m
    until port_in_use "$port"; do
        if ! kill -0 $! 2>/dev/null || ((waited >= 150)); then
            tail -n 20 "$log" >&2
            fail "Prometheus did not start on port $port; its log is $log"
        fi
        sleep 0.2
        waited=$((waited + 1))
    done
    echo "observe http://127.0.0.1:$port"
}

observe() { # SERVER_PID PORT FOLDER
    local prometheus
    "$PROMETHEUS" --config.file="$3/prometheus.yaml" --storage.tsdb.path="$3/data" \
        --storage.tsdb.retention.size=1GB --web.listen-address="127.0.0.1:$2" &
    prometheus=$!
    # asks once a second whether the server is there; ends at once when Prometheus does
    tail --pid="$1" -f /dev/null &
    wait -n || true
    kill -TERM "$prometheus" "$!" 2>/dev/null || true
    wait || true
    rm -rf "$3"
}

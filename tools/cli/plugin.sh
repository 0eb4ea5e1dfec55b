# shellcheck shell=bash
# The PJRT plugin: fetched once, by the tool that also knows its hash.

# Step: the plugin lies in the cache; leaves its folder in PLUGIN_DIRECTORY.
ensure_plugin() {
    local log=$CACHE/logs/plugin.log
    begin_step "PJRT CPU plugin"
    run_logged "$log" "$ROOT/tools/pjrt-plugin/fetch"
    PLUGIN_DIRECTORY=$(tail -n 1 "$log")
    [[ -d $PLUGIN_DIRECTORY ]] || fail "tools/pjrt-plugin/fetch ended without naming the plugin's folder; see $log"
    end_step "$PLUGIN_DIRECTORY"
}

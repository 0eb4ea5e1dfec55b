# shellcheck shell=bash
# Maven builds. A finished jar is copied to target/run under a name that carries a key of all sources: the name says
# whether a build is current, and a running server keeps its own copy while the sources are built again.

project_version() {
    sed -n '/<parent>/,/<\/parent>/d; s/^ *<version>\(.*\)<\/version> *$/\1/p' "$ROOT/pom.xml" | head -n 1
}

# A key of the path, size and time of every source file of every module.
source_key() {
    local modules=() pom
    for pom in "$ROOT"/*/pom.xml; do
        modules+=("$(dirname "$pom")")
    done
    {
        jdk_version "$JAVA_HOME"
        find "$ROOT/pom.xml" "$ROOT/tools/pjrt-plugin" "${modules[@]}" -name target -prune -o \
            -type f -printf '%p %s %T@\n' 2>/dev/null | LC_ALL=C sort
    } | sha256sum | cut -c1-12
}

maven() { (cd "$ROOT" && exec mvn -B -ntp "$@"); }

keep_jar() { # MODULE JAR KEY
    local kept=$ROOT/target/run/$1-$3.jar
    mkdir -p "$ROOT/target/run"
    remove_old_jars "$1"
    cp "$2" "$kept.part"
    mv "$kept.part" "$kept"
}

# A JVM reads classes from its jar for as long as it runs. A jar of the last minutes may be about to be started.
remove_old_jars() { # MODULE
    local old
    while read -r old; do
        jar_is_open "$old" || rm -f "$old"
    done < <(find "$ROOT/target/run" -name "$1-*.jar" -mmin +10)
}

# find complains of processes that end meanwhile, or are somebody else's; what it printed counts.
jar_is_open() { [[ -n $(find /proc/[0-9]*/fd -lname "$1" -print -quit 2>/dev/null || true) ]]; }

# What gpu-pack packs is up to date with the sources of that key.
mark_pack_built() { # KEY
    mkdir -p "$ROOT/target/run"
    rm -f "$ROOT"/target/run/gpu-pack-*
    touch "$ROOT/target/run/gpu-pack-$1"
}

# The jar that Maven leaves for a module.
module_jar() {
    case $1 in
        benchmarks) echo "$ROOT/benchmarks/target/benchmarks.jar" ;;
        simulation) echo "$ROOT/simulation/target/simulation-$(project_version)-all.jar" ;;
        *) echo "$ROOT/$1/target/$1-$(project_version).jar" ;;
    esac
}

# Step: builds one module and what it needs, if a source changed; leaves the jar in JAR.
ensure_built() {
    ensure_all_built "$1"
    # shellcheck disable=SC2034  # for those who source this
    JAR=${JARS[0]}
}

# Step: the same for several modules; leaves their jars in JARS, in that order.
ensure_all_built() {
    local module key missing=()
    begin_step "build $*"
    key=$(source_key)
    JARS=()
    for module in "$@"; do
        JARS+=("$ROOT/target/run/$module-$key.jar")
        [[ -e ${JARS[-1]} ]] || missing+=("$module")
    done
    if ((${#missing[@]} == 0)); then
        end_step "nothing changed"
        return
    fi
    run_build "$CACHE/logs/build-$1.log" maven -DskipTests \
        -pl "$(IFS=,; echo "${missing[*]}")" -am package
    for module in "${missing[@]}"; do
        keep_jar "$module" "$(module_jar "$module")" "$key"
    done
    end_step "built"
}

# Step: the jars of an earlier commit, built in a tree of its own and kept; leaves their folder in EARLIER_JARS.
ensure_earlier() { # COMMIT
    local commit tree
    begin_step "build $1"
    commit=$(git -C "$ROOT" rev-parse --verify --end-of-options "$1^{commit}")
    # shellcheck disable=SC2034  # for those who source this
    EARLIER_JARS=$CACHE/earlier/$commit
    if [[ -e $EARLIER_JARS/gateway.jar ]]; then
        end_step "found $EARLIER_JARS"
        return
    fi
    tree=$(mktemp -d)
    git -C "$ROOT" worktree add --quiet --detach --force "$tree" "$commit"
    run_build "$CACHE/logs/build-earlier.log" env -C "$tree" mvn -B -ntp -DskipTests \
        -pl worker-service,gateway-service -am package
    mkdir -p "$EARLIER_JARS"
    mv "$tree"/worker-service/target/worker-service-*.jar "$EARLIER_JARS/worker.jar"
    mv "$tree"/gateway-service/target/gateway-service-*.jar "$EARLIER_JARS/gateway.jar"
    git -C "$ROOT" worktree remove --force "$tree"
    end_step "built"
}

# run_build LOG COMMAND...: run_logged, with a line for each module that Maven begins with.
run_build() {
    local log=$1 shown=0
    mkdir -p "$(dirname "$log")"
    : >"$log" # what the last build left is none of this one's
    start_child "$@"
    while kill -0 "$CHILD" 2>/dev/null; do
        show_modules "$log"
        tick_step
        sleep 0.5
    done
    show_modules "$log"
    if ! await_child; then
        printf 'FAILED\n' >&2
        tail -n 40 "$log" >&2
        fail "step '$STEP_LABEL' failed; the whole log is $log"
    fi
}

# Those after the first $shown, a variable of run_build.
show_modules() { # LOG
    local name
    while read -r name; do
        shown=$((shown + 1))
        note_step "$name"
    done < <(sed -n 's/^\[INFO\] Building \(.*[^ ]\) [^ ][^ ]*  *\[\([0-9]*\/[0-9]*\)\] *$/\1 (\2)/p' "$1" | tail -n "+$((shown + 1))")
}

# Step: builds modules and what they need, and leaves in CLASS_PATH what a program that uses them is started with.
ensure_class_path() { # MODULE...
    local module files=() entries=()
    begin_step "build $*"
    for module in "$@"; do
        files+=("$ROOT/$module/target/class-path.txt")
    done
    rm -f "${files[@]}"
    run_build "$CACHE/logs/classpath-$1.log" maven -DskipTests -pl "$(IFS=,; echo "$*")" -am package \
        dependency:build-classpath -DincludeScope=runtime -Dmdep.outputFile=target/class-path.txt
    for module in "$@"; do
        [[ -e $ROOT/$module/target/class-path.txt ]] ||
            fail "Maven left no $ROOT/$module/target/class-path.txt; its log is $CACHE/logs/classpath-$1.log"
        entries+=("$(module_jar "$module")" "$(<"$ROOT/$module/target/class-path.txt")")
    done
    # shellcheck disable=SC2034  # for those who source this
    CLASS_PATH=$(printf '%s\n' "${entries[@]}" | tr ':' '\n' | awk 'NF && !seen[$0]++' | paste -sd:)
    end_step "built"
}

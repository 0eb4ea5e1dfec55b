# shellcheck shell=bash
# Mutation tests: changes the compiled classes in small ways, one at a time, and counts which changes some test notices.

# Tests of the loop that are quick enough to be run for each change.
LOOP_TESTS=$(printf ',dev.roundhouse.engine.dispatch.%sTest' DispatchLoop Pipeline CommittedLane Cancellation Holding \
    Discipline SeveralOutputs OwnMemoryDevice LargeAnswers BatchFaults WakeLateness)

# Tests for the package `dispatch`: none about disciplines and outputs, whose code is in other packages; those of weights
# that come and go, which is decided there.
DISPATCH_TESTS=$(printf ',dev.roundhouse.engine.dispatch.%sTest' DispatchLoop Pipeline CommittedLane Cancellation Holding \
    LargeAnswers BatchFaults DispatchThread WakeLateness Watchdog StepThread RequestsInLoop LookAhead OutputsThread DispatchProxy LoopAccounts LoopMoments WeightMover DeviceCalls WarmUp OperatorLoads ModelLifecycle RoomForRuns LostDevice LongestCycle),dev.roundhouse.engine.residency.ResidencyTest,dev.roundhouse.engine.residency.DeviceMemoryTest

# NAME MODULE PACKAGE [TESTS]: a package that is changed, and the tests that should notice; without TESTS, all of the
# module's. A package without sources is left out.
MUTATION_PACKAGES=(
    "schedule inference-engine dev.roundhouse.engine.schedule dev.roundhouse.engine.schedule.*"
    "evict inference-engine dev.roundhouse.engine.evict dev.roundhouse.engine.evict.*"
    "queue inference-engine dev.roundhouse.engine.queue dev.roundhouse.engine.queue.*,dev.roundhouse.engine.admission.*,dev.roundhouse.engine.ServingSectionTest$LOOP_TESTS"
    "admission inference-engine dev.roundhouse.engine.admission dev.roundhouse.engine.admission.*,dev.roundhouse.engine.ServingSectionTest,dev.roundhouse.engine.EngineTest,dev.roundhouse.engine.ComposedModelTest,dev.roundhouse.engine.sequence.*,dev.roundhouse.engine.residency.ResidencyTest$LOOP_TESTS"
    "layout inference-engine dev.roundhouse.engine.layout dev.roundhouse.engine.layout.*,dev.roundhouse.engine.batch.*$LOOP_TESTS"
    "lane inference-engine dev.roundhouse.engine.lane dev.roundhouse.engine.lane.*,dev.roundhouse.engine.residency.*,dev.roundhouse.engine.ServingSectionTest$LOOP_TESTS"
    "residency inference-engine dev.roundhouse.engine.residency dev.roundhouse.engine.residency.*"
    "batch inference-engine dev.roundhouse.engine.batch dev.roundhouse.engine.batch.*,dev.roundhouse.engine.ServingSectionTest$LOOP_TESTS"
    "deliver inference-engine dev.roundhouse.engine.deliver dev.roundhouse.engine.deliver.*,dev.roundhouse.engine.StatisticsTest$LOOP_TESTS"
    "dispatch inference-engine dev.roundhouse.engine.dispatch ${DISPATCH_TESTS#,}"
    "codec shared-kserve dev.roundhouse.kserve.codec"
)

mutation_names() {
    local line names=()
    for line in "${MUTATION_PACKAGES[@]}"; do
        names+=("${line%% *}")
    done
    echo "${names[*]}"
}

# choose_mutations NAMES: leaves in CHOSEN the packages named, with commas between, or all when NAMES is empty.
choose_mutations() {
    local wanted=${1//,/ } name line module package _
    for name in $wanted; do
        [[ " $(mutation_names) " == *" $name "* ]] ||
            misuse "--mutation knows no package '$name'; there are: $(mutation_names)" test
    done
    CHOSEN=()
    for line in "${MUTATION_PACKAGES[@]}"; do
        read -r name module package _ <<<"$line"
        if [[ (-z $wanted || " $wanted " == *" $name "*) && -d $ROOT/$module/src/main/java/${package//.//} ]]; then
            CHOSEN+=("$line")
        fi
    done
    ((${#CHOSEN[@]})) || fail "nothing to mutate: '$1' has no sources"
}

test_mutations() { # of CHOSEN
    local line name module package tests report results=()
    for line in "${CHOSEN[@]}"; do
        read -r name module package tests <<<"$line"
        report=$ROOT/target/mutation/$name
        begin_step "mutations of $name"
        run_logged "$CACHE/logs/mutation-$name.log" mutate "$module" "$package" "${tests:-dev.roundhouse.*}"
        rm -rf "$report"
        mkdir -p "$report"
        cp -R "$ROOT/$module/target/pit-reports/." "$report"
        end_step "done"
        results+=("$report/mutations.csv")
    done
    print_mutations "${results[@]}"
    printf '\nWhich changes nobody noticed: %s\n' "$ROOT/target/mutation/NAME/index.html" >&2
}

mutate() { # MODULE PACKAGE TESTS
    rm -rf "$ROOT/$1/target/pit-reports"
    maven -q -Pmutation -pl "$1" -am test-compile org.pitest:pitest-maven:mutationCoverage \
        "-Dmutation.classes=$2.*" "-Dmutation.tests=$3"
}

# Killed of all, per class and per package. A mutant that makes tests run out of time or memory is noticed too.
print_mutations() {
    awk -F, '
        {
            class = $2
            sub(/\$.*/, "", class)
            package = class
            sub(/\.[^.]*$/, "", package)
            noticed = $6 == "KILLED" || $6 == "TIMED_OUT" || $6 == "MEMORY_ERROR" || $6 == "RUN_ERROR"
            all[class]++; killed[class] += noticed
            all[package]++; killed[package] += noticed
            total++; total_killed += noticed
        }
        function row(name, killed, all) { return sprintf("%-60s %6d %6d %5.0f %%", name, killed, all, 100 * killed / all) }
        END {
            printf "%-60s %6s %6s %7s\n", "class", "killed", "all", ""
            for (name in all) print row(name, killed[name], all[name]) | "LC_ALL=C sort"
            close("LC_ALL=C sort")
            if (total) print row("all", total_killed, total)
        }' "$@"
}

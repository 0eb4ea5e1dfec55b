package dev.roundhouse.simulation;

import dev.roundhouse.simulation.fleet.BytesRange;
import dev.roundhouse.simulation.fleet.FleetMemory;
import dev.roundhouse.simulation.fleet.NanosRange;
import dev.roundhouse.simulation.traffic.Workload;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The command line, parsed; {@link SimArguments} says what each option means.
 *
 * @param idle models that are loaded beside those and never called
 * @param load device time asked for if every call ran alone, over time
 * @param weightBytes of a model's weights
 * @param slo null for none
 */
record SimOptions(
    long seed,
    int models,
    int idle,
    Duration length,
    double load,
    Workload workload,
    double zipfExponent,
    List<DisciplineChoice> disciplines,
    @Nullable NanosRange slo,
    NanosRange cost,
    double fixedShare,
    List<Integer> batchSizes,
    List<Double> shares,
    BytesRange weightBytes,
    FleetMemory memory,
    Duration maxQueueDelay,
    int maxQueueDepth,
    double mispredicted,
    double mispredictFactor,
    double failed,
    double cancelled,
    double oversize,
    boolean json) {}

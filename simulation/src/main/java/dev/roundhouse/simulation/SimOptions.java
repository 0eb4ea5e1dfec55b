package dev.roundhouse.simulation;

import dev.roundhouse.simulation.fleet.DeviceMemory;
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
 * @param weightBytes least and most that a model's weights have
 * @param slo null for none
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
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
    long[] weightBytes,
    DeviceMemory memory,
    Duration maxQueueDelay,
    int maxQueueDepth,
    double mispredicted,
    double mispredictFactor,
    double failed,
    double cancelled,
    double oversize,
    boolean json) {}

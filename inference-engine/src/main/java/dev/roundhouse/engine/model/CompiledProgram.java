package dev.roundhouse.engine.model;

import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.observe.BatchTally;
import dev.roundhouse.engine.schedule.CostEstimate;

/**
 * One program of a model.
 *
 * @param variant index of its shape variant
 * @param batchSize rows it takes; 1 for a model without a batch axis
 * @param sha256 of its artifact, in hexadecimal; empty when costs are not kept
 * @param cost what a run of it costs the device; written by the dispatch thread
 * @param tally how often it ran; written by the dispatch thread
 */
public record CompiledProgram(
    int variant,
    int batchSize,
    String sha256,
    DeviceProgram program,
    CostEstimate cost,
    BatchTally tally) {}

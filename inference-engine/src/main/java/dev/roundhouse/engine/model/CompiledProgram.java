package dev.roundhouse.engine.model;

import dev.roundhouse.engine.device.DeviceProgram;

/**
 * One program of a model.
 *
 * @param variant index of its shape variant
 * @param batchSize rows it takes; 1 for a model without a batch axis
 */
public record CompiledProgram(int variant, int batchSize, DeviceProgram program) {}

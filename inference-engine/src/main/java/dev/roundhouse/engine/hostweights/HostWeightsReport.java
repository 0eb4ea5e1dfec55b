package dev.roundhouse.engine.hostweights;

/**
 * One model's host weights.
 *
 * @param byteSize of the weights, without alignment
 * @param heldBytes host memory that they take now; 0 when they are not in memory. Tensors shared
 *     with another model count there
 * @param inMemory whether the next lease reads no file
 * @param shared whether other processes read the same memory
 * @param hugePages whether pages of 2 MiB were asked for
 * @param pinned whether the device has page-locked them, for direct copies
 */
public record HostWeightsReport(
    HostWeightsKind kind,
    long byteSize,
    long heldBytes,
    boolean inMemory,
    boolean shared,
    boolean hugePages,
    boolean pinned) {}

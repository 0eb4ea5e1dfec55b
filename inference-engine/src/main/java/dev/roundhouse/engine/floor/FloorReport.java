package dev.roundhouse.engine.floor;

/**
 * One model's floor.
 *
 * @param byteSize of the weights, without alignment
 * @param heldBytes host memory that it takes now; 0 when it is not in memory. Tensors shared with
 *     another floor count there
 * @param inMemory whether the next lease reads no file
 * @param shared whether other processes read the same memory
 * @param hugePages whether pages of 2 MiB were asked for
 * @param pinned whether the device has page-locked it, for direct copies
 */
public record FloorReport(
    FloorKind kind,
    long byteSize,
    long heldBytes,
    boolean inMemory,
    boolean shared,
    boolean hugePages,
    boolean pinned) {}

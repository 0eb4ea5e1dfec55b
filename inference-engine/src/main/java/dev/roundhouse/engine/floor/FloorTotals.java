package dev.roundhouse.engine.floor;

/**
 * All floors together. Counts are since the store was opened.
 *
 * @param floors that are open
 * @param heldBytes host memory of all floors, shared ones and leased copies included
 * @param sharedBytes of these, in regions that other processes may read too
 * @param savedBytes of tensors that were found in another floor and are not stored again
 * @param budgetBytes what {@code heldBytes} should not exceed; what is leased cannot be let go
 * @param reads of a model's weights from its files
 * @param readBytes that were read so, of the weights
 * @param readNanos that these took, checks included
 * @param evictions of floors, by the budget or on request
 */
public record FloorTotals(
    int floors,
    long heldBytes,
    long sharedBytes,
    long savedBytes,
    long budgetBytes,
    long reads,
    long readBytes,
    long readNanos,
    long evictions) {}

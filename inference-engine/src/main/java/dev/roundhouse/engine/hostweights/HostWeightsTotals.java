package dev.roundhouse.engine.hostweights;

/**
 * All host weights together. Counts are since the store was opened.
 *
 * @param open how many are open
 * @param heldBytes host memory of all of them, shared ones and leased copies included
 * @param sharedBytes of these, in regions that other processes may read too
 * @param savedBytes of tensors that were in memory already and are not stored again
 * @param budgetBytes what {@code heldBytes} should not exceed; what is leased cannot be let go
 * @param reads of a model's weights from its files
 * @param readBytes that were read so, of the weights
 * @param readNanos that these took, checks included
 * @param evictions by the budget or on request
 */
public record HostWeightsTotals(
    int open,
    long heldBytes,
    long sharedBytes,
    long savedBytes,
    long budgetBytes,
    long reads,
    long readBytes,
    long readNanos,
    long evictions) {}

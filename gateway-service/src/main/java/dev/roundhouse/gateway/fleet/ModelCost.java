package dev.roundhouse.gateway.fleet;

/**
 * What a model's requests cost, over all workers.
 *
 * @param perItem device time in nanoseconds; NaN when none was measured
 * @param perRequest device time in nanoseconds; NaN when none was measured
 * @param maxBatch items that run together; 0 when it is not known
 * @param rowsAreItems whether a request has as many items as the first extent of its first input;
 *     otherwise it has one
 */
public record ModelCost(double perItem, double perRequest, long maxBatch, boolean rowsAreItems) {}

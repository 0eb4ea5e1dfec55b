package dev.roundhouse.gateway.fleet;

/**
 * What a model's requests cost, over all workers.
 *
 * @param perItem device time in nanoseconds
 * @param perRequest device time in nanoseconds
 * @param maxBatch items that run together; 0 when it is not known
 */
public record ModelCost(double perItem, double perRequest, long maxBatch) {}

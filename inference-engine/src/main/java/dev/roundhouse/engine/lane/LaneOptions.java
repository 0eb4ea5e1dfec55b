package dev.roundhouse.engine.lane;

/**
 * How a model is dispatched.
 *
 * @param weight share of the device relative to other models, above 0
 * @param rowCap most rows that may run together
 * @param maxQueueDelayNanos how long a batch that could be larger may be held for more requests
 * @param pinned true when its weights never leave the device
 * @param delaysLate true when a request that has waited too long is put behind the others, false
 *     when it is dropped
 */
public record LaneOptions(
    double weight, int rowCap, long maxQueueDelayNanos, boolean pinned, boolean delaysLate) {}

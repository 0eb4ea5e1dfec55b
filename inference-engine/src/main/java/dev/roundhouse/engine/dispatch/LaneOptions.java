package dev.roundhouse.engine.dispatch;

/**
 * How a model is dispatched.
 *
 * @param weight share of the device relative to other models, above 0
 * @param rowCap most rows that may run together
 */
public record LaneOptions(double weight, int rowCap) {}

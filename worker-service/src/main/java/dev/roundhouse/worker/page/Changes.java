package dev.roundhouse.worker.page;

/**
 * What may be changed on the operators' port, which the page then offers.
 *
 * @param weight of a model
 * @param pinned whether a model's weights stay on the device
 */
public record Changes(boolean weight, boolean pinned) {}

package dev.roundhouse.engine.dispatch;

/**
 * What is on the device once its memory has been compacted.
 *
 * @param reloaded models whose weights had left and were brought back
 * @param residentBytes of weights that are there
 */
public record Compacted(int reloaded, long residentBytes) {}

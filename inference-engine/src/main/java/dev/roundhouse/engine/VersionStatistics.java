package dev.roundhouse.engine;

import dev.roundhouse.engine.observe.InferenceReading;
import dev.roundhouse.engine.observe.ModelCounters;

/**
 * What has been counted for a ready version since it was loaded.
 *
 * @param answered what its answered requests took, and the runs that they took it in; numbers that
 *     belong together
 * @param failed accepted requests that ended without an answer: failed, dropped or cancelled
 * @param failedNanos from their acceptance to their end; may hold one that is counted a moment
 *     later
 * @param lastRunMillis when its latest answered run began, in milliseconds since 1970; 0 for never
 * @param deviceBytes of its weights that are on the device
 * @param loadNanos from the start of its load until it was ready
 * @param counters what became of its requests; they go on counting
 */
public record VersionStatistics(
    String name,
    String version,
    InferenceReading answered,
    long failed,
    long failedNanos,
    long lastRunMillis,
    long deviceBytes,
    long loadNanos,
    ModelCounters counters) {}

package dev.roundhouse.engine;

import dev.roundhouse.engine.dispatch.DispatchState;

/**
 * The scheduler at one moment.
 *
 * @param dispatch as the dispatch thread saw it
 * @param heldBytes held by accepted requests and unwritten answers
 * @param maxQueuedBytes most they may hold
 * @param maxQueueDepth most requests that may wait per model
 */
public record SchedulerReport(
    DispatchState dispatch, long heldBytes, long maxQueuedBytes, int maxQueueDepth) {}

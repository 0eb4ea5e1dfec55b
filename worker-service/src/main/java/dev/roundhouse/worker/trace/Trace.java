package dev.roundhouse.worker.trace;

import dev.roundhouse.engine.request.Outcome;

/**
 * The trace of one sampled request. Times are on the engine's clock.
 *
 * @param id of the trace, unique in this process
 * @param parentId of the request that the model of which made this call; 0 for a caller's own
 * @param sampler that picked it
 * @param requestId given by the caller; empty for none
 * @param tensors none unless they are traced
 * @param startNanos when it was read
 * @param endNanos when its answer was handed to the transport
 */
record Trace(
    long id,
    long parentId,
    Sampler sampler,
    String model,
    String requestId,
    Outcome outcome,
    TracedTensors tensors,
    long startNanos,
    long endNanos) {}

package dev.roundhouse.worker.trace;

import dev.roundhouse.engine.request.Outcome;

/**
 * The trace of one sampled request. Times are on the engine's clock.
 *
 * @param id of the trace, unique in this process
 * @param sampler that picked it
 * @param requestId given by the caller; empty for none
 * @param tensors none unless they are traced
 * @param startNanos when it was read
 * @param endNanos when its answer was handed to the transport
 */
record Trace(
    long id,
    Sampler sampler,
    String model,
    String requestId,
    Outcome outcome,
    TracedTensors tensors,
    long startNanos,
    long endNanos) {}

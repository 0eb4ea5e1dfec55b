package dev.roundhouse.worker.trace;

import dev.roundhouse.engine.request.Outcome;

/**
 * What one sampled request is traced with. Moments are on the engine's clock, in nanoseconds.
 *
 * @param id of the trace, unlike any other of this process
 * @param sampler that picked it
 * @param requestId as its caller named it; empty for no name
 * @param tensors none unless they are traced
 * @param startNanos when it was read
 * @param endNanos when its answer had been handed to the transport
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

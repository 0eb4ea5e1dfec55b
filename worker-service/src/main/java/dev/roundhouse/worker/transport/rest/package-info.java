/**
 * Inference over HTTP: JSON or binary tensors. A request becomes the same {@code InferMessage} as
 * over gRPC and is checked and answered the same way, on event loops; what takes the processor for
 * long has a virtual thread. All other routes are the platform's.
 */
@NullMarked
package dev.roundhouse.worker.transport.rest;

import org.jspecify.annotations.NullMarked;

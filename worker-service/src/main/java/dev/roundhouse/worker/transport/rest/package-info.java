/**
 * The protocol over HTTP: routes, bodies, and JSON or binary tensors. A request becomes the same
 * {@code InferMessage} as over gRPC and is checked and answered the same way. Each request has a
 * virtual thread of its own, from its first byte to the last of its answer; controllers are found
 * by Spring and hold no state.
 */
@NullMarked
package dev.roundhouse.worker.transport.rest;

import org.jspecify.annotations.NullMarked;

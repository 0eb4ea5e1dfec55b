/**
 * Tensor streams ({@code TSTREAM/1}) through the gateway. {@link
 * dev.roundhouse.gateway.stream.StreamGate} listens; a {@code ClientStream} reads a client's hello
 * and asks workers by a {@code WorkerHello} each, until one takes the stream; from then on {@link
 * dev.roundhouse.transport.forward.Splice} passes bytes both ways. A client's and its worker's
 * connection belong to one event loop.
 */
@NullMarked
package dev.roundhouse.gateway.stream;

import org.jspecify.annotations.NullMarked;

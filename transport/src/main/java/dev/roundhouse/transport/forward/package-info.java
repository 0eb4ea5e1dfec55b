/**
 * Sends requests on to other servers. {@link dev.roundhouse.transport.forward.Attempts} decides who
 * is asked, again, next and beside whom, by the routes of a {@link
 * dev.roundhouse.transport.forward.CallRouter}; {@link
 * dev.roundhouse.transport.forward.ForwardingBudget} bounds what is held meanwhile. A gRPC call is
 * a {@code ForwardedCall}, whose frames go through a {@code ForwardingWindow} each way and by an
 * {@code UpstreamConnection} of the same event loop. Knows {@code http1} and {@code http2}, which
 * do not know it: {@link dev.roundhouse.transport.forward.GrpcForwarder} is given to a server.
 */
@NullMarked
package dev.roundhouse.transport.forward;

import org.jspecify.annotations.NullMarked;

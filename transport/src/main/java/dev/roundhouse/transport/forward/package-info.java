/**
 * Sends requests on to other servers. {@link dev.roundhouse.transport.forward.Attempts} decides who
 * is asked, again, next and beside whom, by the routes of a {@link
 * dev.roundhouse.transport.forward.CallRouter}; {@link
 * dev.roundhouse.transport.forward.ForwardingBudget} bounds what is held meanwhile.
 *
 * <p>A gRPC call is a {@code ForwardedCall}, whose frames go through a {@code ForwardingWindow}
 * each way and by an {@code UpstreamStream} of a connection of the same event loop. Knows {@code
 * http1} and {@code http2}, which do not know it: {@link
 * dev.roundhouse.transport.forward.GrpcForwarder} is given to a server.
 *
 * <p>For HTTP/1.1 a {@link dev.roundhouse.transport.forward.HttpForwarder} makes of each request a
 * {@code ForwardedRequest}, which is its client's side; {@code HttpSender} asks the servers, one
 * {@code HttpAttempt} each, over {@code HttpUpstream}s, which {@code HttpConnections} keeps for the
 * next request.
 *
 * <p>Protocols that are not read at all pass through a {@link
 * dev.roundhouse.transport.forward.Splice}.
 */
@NullMarked
package dev.roundhouse.transport.forward;

import org.jspecify.annotations.NullMarked;

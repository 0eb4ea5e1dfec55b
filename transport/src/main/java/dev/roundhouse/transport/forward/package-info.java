/**
 * Requests that are sent on to other servers, on the event loops that they arrive at. For HTTP/1.1
 * a {@link dev.roundhouse.transport.forward.HttpForwarder} makes of each request a {@code
 * ForwardedRequest}, which is its client's side; {@code HttpSender} asks the servers that {@link
 * dev.roundhouse.transport.http2.Attempts} says, one {@code HttpAttempt} each, over {@code
 * HttpUpstream}s, which {@code HttpConnections} keeps for the next request.
 */
@NullMarked
package dev.roundhouse.transport.forward;

import org.jspecify.annotations.NullMarked;

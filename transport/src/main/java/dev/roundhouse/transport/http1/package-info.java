/**
 * An HTTP/1.1 server on event loops. {@link dev.roundhouse.transport.http1.Http1Server} listens;
 * for each connection {@code Http1Connection} takes requests one after the other, {@code SentAhead}
 * keeps what comes before its turn, {@code ClientWatch} ends what takes too long, and {@code
 * ConnectionEnd} closes the connection. A {@link dev.roundhouse.transport.http1.RequestRoutes} says
 * who answers each: a {@link dev.roundhouse.transport.http1.RequestHandler}, when {@code
 * BodyAssembly} has put the body together, with a {@link dev.roundhouse.transport.http1.Reply}; or
 * a {@link dev.roundhouse.transport.http1.StreamedRequestHandler}, as the body comes.
 */
@NullMarked
package dev.roundhouse.transport.http1;

import org.jspecify.annotations.NullMarked;

/**
 * An HTTP/1.1 server on event loops. {@link dev.roundhouse.transport.http1.Http1Server} listens;
 * for each connection {@code Http1Connection} takes requests one after the other. A {@link
 * dev.roundhouse.transport.http1.RequestRoutes} says who answers each: its body is put together by
 * {@code BodyAssembly}, and a {@link dev.roundhouse.transport.http1.RequestHandler} answers by a
 * {@link dev.roundhouse.transport.http1.Reply}.
 */
@NullMarked
package dev.roundhouse.transport.http1;

import org.jspecify.annotations.NullMarked;

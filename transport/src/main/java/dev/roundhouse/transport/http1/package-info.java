/**
 * An HTTP/1.1 server on event loops. {@link dev.roundhouse.transport.http1.Http1Server} listens;
 * for each connection {@code Http1Connection} takes requests one after the other. A {@link
 * dev.roundhouse.transport.http1.RequestRoutes} says which are answered here: their body is put
 * together by {@code BodyAssembly}, and a {@link dev.roundhouse.transport.http1.RequestHandler}
 * answers by a {@link dev.roundhouse.transport.http1.Reply}. All others go through a {@code Bridge}
 * to the server behind.
 */
@NullMarked
package dev.roundhouse.transport.http1;

import org.jspecify.annotations.NullMarked;

/**
 * An HTTP/1.1 server on event loops. {@link dev.roundhouse.http.Http1Server} listens; for each
 * connection {@code Http1Connection} takes requests one after the other. A {@link
 * dev.roundhouse.http.RequestRoutes} says which are answered here: their body is put together by
 * {@code BodyAssembly}, and a {@link dev.roundhouse.http.RequestHandler} answers by a {@link
 * dev.roundhouse.http.Reply}. All others go through a {@code Bridge} to the server behind.
 */
@NullMarked
package dev.roundhouse.http;

import org.jspecify.annotations.NullMarked;

package dev.roundhouse.worker.transport.tstream;

import io.netty.handler.ssl.SslContext;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * How streams are served.
 *
 * @param address over TCP; null for none
 * @param tls of connections to that address; null for plain text
 * @param socket in the file system; null for none
 * @param maxConnections further ones are told that there is no room
 * @param handshakeNanos until a whole hello must have come
 * @param stalledNanos for the rest of a message that has begun to come
 * @param unreadNanos for a client to read on
 */
public record StreamSettings(
    @Nullable InetSocketAddress address,
    @Nullable Supplier<SslContext> tls,
    @Nullable Path socket,
    int maxConnections,
    long handshakeNanos,
    long stalledNanos,
    long unreadNanos) {}

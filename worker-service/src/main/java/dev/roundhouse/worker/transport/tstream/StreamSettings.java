package dev.roundhouse.worker.transport.tstream;

import dev.roundhouse.platform.tstream.StreamPortSettings;
import io.netty.handler.ssl.SslContext;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * How streams are served.
 *
 * @param port where clients connect
 * @param tls of connections over TCP; null for plain text
 * @param handshakeNanos until a whole hello must have come
 * @param stalledNanos for the rest of a message that has begun to come
 * @param unreadNanos for a client to read on
 */
public record StreamSettings(
    StreamPortSettings port,
    @Nullable Supplier<SslContext> tls,
    long handshakeNanos,
    long stalledNanos,
    long unreadNanos) {}

package dev.roundhouse.worker.transport.tstream;

import dev.roundhouse.platform.tstream.StreamPortSettings;

/**
 * How streams are served.
 *
 * @param port where clients connect
 * @param handshakeNanos until a whole hello must have come
 * @param stalledNanos for the rest of a message that has begun to come
 * @param unreadNanos for a client to read on
 */
public record StreamSettings(
    StreamPortSettings port, long handshakeNanos, long stalledNanos, long unreadNanos) {}

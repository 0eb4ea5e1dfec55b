package dev.roundhouse.transport.http2;

/**
 * How long connections live, and what clients may do to keep them alive. {@link Long#MAX_VALUE}
 * turns a time off.
 *
 * @param keepAliveNanos without a sign of life, after which the client is asked for one
 * @param keepAliveTimeoutNanos that it has to answer
 * @param maxIdleNanos without a call
 * @param maxAgeNanos altogether
 * @param maxAgeGraceNanos that calls have to end when the connection is too old
 * @param permitPingNanos between two pings of a client
 * @param permitPingWithoutCalls when it has no call
 */
record KeepAlivePolicy(
    long keepAliveNanos,
    long keepAliveTimeoutNanos,
    long maxIdleNanos,
    long maxAgeNanos,
    long maxAgeGraceNanos,
    long permitPingNanos,
    boolean permitPingWithoutCalls) {}

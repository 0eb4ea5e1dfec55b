package dev.roundhouse.transport.http2;

/**
 * How long connections live, and what clients may do to keep them alive. {@link Long#MAX_VALUE}
 * disables a time.
 *
 * @param keepAliveNanos without traffic, after which the client is pinged
 * @param keepAliveTimeoutNanos for its answer
 * @param maxIdleNanos without a call
 * @param maxAgeNanos of the connection
 * @param maxAgeGraceNanos for calls to end when the connection is too old
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

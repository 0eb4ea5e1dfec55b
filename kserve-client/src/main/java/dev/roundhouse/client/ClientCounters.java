package dev.roundhouse.client;

/**
 * What a client has counted since it was made, over all calls of inference but streams.
 *
 * @param calls that were begun
 * @param answered of them
 * @param failed of them, those that were cancelled too
 * @param attempts that were sent; above {@code calls} by what was retried
 * @param retriesWithoutBudget that were not made because too many others were
 * @param bytesSent on the wire
 * @param bytesReceived on the wire
 * @param sharedBytes that went through shared memory instead
 * @param registrations of shared memory, with those that a server had lost
 */
public record ClientCounters(
    long calls,
    long answered,
    long failed,
    long attempts,
    long retriesWithoutBudget,
    long bytesSent,
    long bytesReceived,
    long sharedBytes,
    long registrations) {}

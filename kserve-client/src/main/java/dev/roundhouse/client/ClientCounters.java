package dev.roundhouse.client;

/**
 * Counts of a client since it was made, over all inference calls except streams.
 *
 * @param calls begun
 * @param answered calls answered
 * @param failed calls failed, cancelled ones included
 * @param attempts sent; exceeds {@code calls} by the retries
 * @param retriesWithoutBudget retries not made because there were too many others
 * @param bytesSent on the wire
 * @param bytesReceived on the wire
 * @param sharedBytes that went through shared memory instead
 * @param registrations of shared memory, including repeats after a server lost it
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

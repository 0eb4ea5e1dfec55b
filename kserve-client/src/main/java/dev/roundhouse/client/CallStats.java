package dev.roundhouse.client;

import java.time.Duration;

/**
 * What a call took, as its client saw it.
 *
 * @param attempts sent, including the last; 0 for none
 * @param total from the call to its end, with all attempts and the waits between them
 * @param send of the last attempt: from its start until its request was handed to the connection;
 *     zero when it never was
 * @param receive of the last attempt: from the first bytes of its answer to its end; zero when
 *     nothing came
 * @param bytesSent on the wire, over all attempts
 * @param bytesReceived on the wire, over all attempts
 * @param sharedBytes that the last attempt passed through shared memory, both ways
 */
public record CallStats(
    int attempts,
    Duration total,
    Duration send,
    Duration receive,
    long bytesSent,
    long bytesReceived,
    long sharedBytes) {}

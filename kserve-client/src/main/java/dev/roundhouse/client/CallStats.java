package dev.roundhouse.client;

import java.time.Duration;

/**
 * What a call took, as its client saw it.
 *
 * @param attempts that were sent, the last one included; 0 when none was
 * @param total from the call to its end, with all attempts and the waits between them
 * @param send of the last attempt: from its beginning until its request was handed to the
 *     connection; zero when it never was
 * @param receive of the last attempt: from the first bytes of its answer to the end of it; zero
 *     when nothing came
 * @param bytesSent on the wire, of all attempts
 * @param bytesReceived on the wire, of all attempts
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

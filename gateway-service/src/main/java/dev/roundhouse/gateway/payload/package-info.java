/**
 * Copies of single-message requests and their answers for a collector (docs/payload-log.md), taken
 * while they pass. Streams are not copied. Bytes are copied on event loops, up to a limit; messages
 * are read by the threads that send.
 */
@NullMarked
package dev.roundhouse.gateway.payload;

import org.jspecify.annotations.NullMarked;

package dev.roundhouse.worker.transport.grpc;

import org.jspecify.annotations.Nullable;

/**
 * A part of a decoupled model's answer, on its way to the client.
 *
 * @param answer null for the end, which the turn tells
 */
record StreamPart(StreamTurn turn, @Nullable LentAnswer answer, long byteSize) {}

package dev.roundhouse.worker.transport.tstream;

import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.transport.memory.MemoryBudget;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import org.jspecify.annotations.Nullable;

/**
 * Cuts what arrives into messages of one size. A message that comes in several reads is collected,
 * and counted as {@link Kept#MESSAGE} until it is whole; one for which there is no memory is read
 * and forgotten. On the connection's event loop.
 */
final class MessageCutter {
  /**
   * Messages up to this size are copied behind one that was collected, so that they are one request
   * with it: that costs less than another request.
   */
  private static final int JOINED_BYTES = 16 << 10;

  /** Takes what was cut, in order. */
  interface Taker {
    /**
     * @param bytes of whole messages; given away
     */
    void onMessages(ByteBuf bytes, int count);

    /** A message that there was no memory for. */
    void onForgotten(String why);
  }

  private final int size;
  private final ByteBufAllocator allocator;
  private final MemoryBudget memory;
  private final Taker taker;

  /** What has come of a message; null between messages. */
  private @Nullable ByteBuf partial;

  /** Bytes of a message that is forgotten, still to come. */
  private int forgotten;

  MessageCutter(int size, ByteBufAllocator allocator, MemoryBudget memory, Taker taker) {
    this.size = size;
    this.allocator = allocator;
    this.memory = memory;
    this.taker = taker;
  }

  /**
   * @param read borrowed
   */
  void read(ByteBuf read) {
    while (read.isReadable()) {
      if (forgotten > 0) {
        int skipped = Math.min(forgotten, read.readableBytes());
        read.skipBytes(skipped);
        forgotten -= skipped;
      } else if (partial != null) {
        fill(partial, read);
      } else if (read.readableBytes() >= size) {
        whole(read);
      } else {
        begin(read);
      }
    }
  }

  private void whole(ByteBuf read) {
    int count = read.readableBytes() / size;
    int bytes = count * size;
    // a few messages must not hold all of a large buffer
    boolean keeps = bytes >= read.capacity() / 2;
    ByteBuf messages =
        keeps
            ? read.readRetainedSlice(bytes)
            : allocator.directBuffer(bytes, bytes).writeBytes(read, bytes);
    taker.onMessages(messages, count);
  }

  private void begin(ByteBuf read) {
    String refusal = memory.take(size);
    if (refusal != null) {
      forgotten = size - read.readableBytes();
      read.skipBytes(read.readableBytes());
      taker.onForgotten(refusal);
      return;
    }
    try {
      partial = allocator.directBuffer(size, size).writeBytes(read);
    } finally {
      if (partial == null) {
        memory.giveBack(size);
      }
    }
  }

  private void fill(ByteBuf begun, ByteBuf read) {
    int missing = size - begun.readableBytes();
    if (read.readableBytes() < missing) {
      begun.writeBytes(read);
      return;
    }
    int more = size <= JOINED_BYTES ? (read.readableBytes() - missing) / size : 0;
    ByteBuf messages = begun;
    if (more > 0) {
      int bytes = (1 + more) * size;
      messages = allocator.directBuffer(bytes, bytes).writeBytes(begun);
      begun.release();
    }
    messages.writeBytes(read, missing + more * size);
    partial = null;
    memory.giveBack(size);
    taker.onMessages(messages, 1 + more);
  }

  /** True when a message has begun to come and is not whole. */
  boolean isAmidMessage() {
    return partial != null || forgotten > 0;
  }

  /** Bytes that the message which has begun still lacks; 0 between messages. */
  int missing() {
    return partial == null ? forgotten : size - partial.readableBytes();
  }

  /** Nothing more is read. Harmless when repeated. */
  void close() {
    if (partial != null) {
      partial.release();
      partial = null;
      memory.giveBack(size);
    }
  }
}

package dev.roundhouse.transport.http2;

import dev.roundhouse.transport.memory.MemoryBudget;
import io.grpc.Status;
import io.grpc.StatusException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * Assembles the messages of one stream with one copy of each byte. A small message goes to an
 * array; a large one to pooled memory that grows with what has arrived and is counted first, so a
 * client that only announces much takes little. A small message is counted only when it has to wait
 * for its rest, which is rare. A complete message stays counted. For one event loop.
 */
final class MessageAssembly {
  private static final int PREFIX_BYTES = 5;

  /** Up to this size the collector is cheaper than a pool to which another thread gives back. */
  static final int MAX_HEAP_BYTES = 1 << 16;

  /** Initial memory of a large message. */
  private static final int FIRST_BYTES = 1 << 20;

  private static final int GROWTH = 4;

  private final ByteBufAllocator allocator;
  private final MemoryBudget budget;
  private final int maxMessageBytes;

  /** The prefix's bytes so far, and their number. */
  private long prefix;

  private int prefixBytes;
  private boolean compressed;
  private int length;
  private byte @Nullable [] small;
  private @Nullable ByteBuf large;
  private int filled;
  private long held;

  MessageAssembly(ByteBufAllocator allocator, MemoryBudget budget, int maxMessageBytes) {
    this.allocator = allocator;
    this.budget = budget;
    this.maxMessageBytes = maxMessageBytes;
  }

  /**
   * Reads further.
   *
   * @param data read
   * @return a message that is complete, to be released; null when all data has been read
   * @throws StatusException when the message may not be received; do not call again after that
   */
  @Nullable ReceivedMessage next(ByteBuf data) throws StatusException {
    if (prefixBytes < PREFIX_BYTES && !readPrefix(data)) {
      return null;
    }
    if (small != null) {
      int count = Math.min(length - filled, data.readableBytes());
      data.readBytes(small, filled, count);
      filled += count;
    } else {
      fillLarge(data);
    }
    return filled < length ? null : complete();
  }

  /** True when the last message that {@link #next} returned is compressed. */
  boolean isCompressed() {
    return compressed;
  }

  /** True when part of a message has arrived. */
  boolean isWithinMessage() {
    return prefixBytes > 0;
  }

  /** How much of the message has arrived, as text. */
  String progress() {
    return prefixBytes < PREFIX_BYTES
        ? prefixBytes + " bytes of its prefix"
        : filled + " of its " + length + " bytes";
  }

  private void take(long bytes) throws StatusException {
    String refusal = budget.take(bytes);
    if (refusal != null) {
      throw Status.RESOURCE_EXHAUSTED.withDescription(refusal).asException();
    }
    held += bytes;
  }

  /** Releases what is held of an incomplete message. */
  void close() {
    if (large != null) {
      large.release();
      large = null;
    }
    small = null;
    budget.giveBack(held);
    held = 0;
  }

  private boolean readPrefix(ByteBuf data) throws StatusException {
    while (prefixBytes < PREFIX_BYTES) {
      if (!data.isReadable()) {
        return false;
      }
      prefix = prefix << 8 | data.readUnsignedByte();
      prefixBytes++;
    }
    int flag = (int) (prefix >>> 32);
    if ((flag & ~1) != 0) {
      throw Status.INTERNAL
          .withDescription("gRPC frame header malformed: reserved bits not zero")
          .asException();
    }
    compressed = flag == 1;
    long announced = prefix & 0xffff_ffffL;
    if (announced > maxMessageBytes) {
      throw Status.RESOURCE_EXHAUSTED
          .withDescription(
              "gRPC message exceeds maximum size " + maxMessageBytes + ": " + announced)
          .asException();
    }
    length = (int) announced;
    filled = 0;
    if (length <= MAX_HEAP_BYTES) {
      if (data.readableBytes() < length) {
        take(length);
      }
      small = new byte[length];
    } else {
      grow(Math.min(length, FIRST_BYTES));
    }
    return true;
  }

  private void fillLarge(ByteBuf data) throws StatusException {
    int count = Math.min(length - filled, data.readableBytes());
    while (count > 0) {
      ByteBuf target = large;
      if (target == null || !target.isWritable()) {
        int more = (int) Math.min(length, (long) GROWTH * filled);
        target = grow(more);
      }
      int part = Math.min(count, target.writableBytes());
      target.writeBytes(data, part);
      filled += part;
      count -= part;
    }
  }

  private ByteBuf grow(int capacity) throws StatusException {
    take(capacity);
    ByteBuf larger;
    try {
      larger = allocator.directBuffer(capacity, capacity);
    } catch (OutOfMemoryError e) {
      throw Status.RESOURCE_EXHAUSTED
          .withDescription("there is no memory to receive a message of " + length + " bytes")
          .asException();
    }
    ByteBuf full = large;
    large = larger;
    if (full != null) {
      int before = full.capacity();
      larger.writeBytes(full);
      full.release();
      budget.giveBack(before);
      held -= before;
    }
    return larger;
  }

  private ReceivedMessage complete() {
    prefixBytes = 0;
    prefix = 0;
    long counted = held;
    held = 0;
    byte[] array = small;
    if (array != null) {
      small = null;
      return new ReceivedMessage(ByteBuffer.wrap(array), null, budget, counted);
    }
    ByteBuf pooled = large;
    if (pooled == null) {
      throw new IllegalStateException("a message was completed that had not begun");
    }
    large = null;
    return new ReceivedMessage(pooled.nioBuffer(0, length), pooled, budget, counted);
  }
}

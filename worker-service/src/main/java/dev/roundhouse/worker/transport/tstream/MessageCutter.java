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
  /** Larger messages have memory of their own, into which they are read. */
  private static final int SMALL_BYTES = 64 << 10;

  /** Takes what was cut, in order. */
  interface Taker {
    /**
     * @param messages borrowed
     */
    void onMessages(Messages messages);

    /** So many were read to their place in the blocks of rows. */
    void onRows(int count);

    /**
     * @param message taken
     */
    void onLarge(LargeMessage message);

    /** A message that there was no memory for. */
    void onForgotten(String why);
  }

  private final MessageLayout layout;
  private final int size;
  private final ByteBufAllocator allocator;
  private final MemoryBudget memory;
  private final Taker taker;
  private final boolean isLarge;

  /** Where messages are read to that are nothing but a row; null when they are something else. */
  private final @Nullable RowBlocks rows;

  /** What has come of a small message; null between messages. */
  private @Nullable ByteBuf begun;

  /** A large message that has not come whole. */
  private @Nullable LargeMessage large;

  /** A part of it, or of a block of rows, that is read into. */
  private @Nullable ByteBuf lent;

  /** The blocks of rows are this stream's to read into. */
  private boolean hasRows;

  /** Bytes of a message that is forgotten, still to come. */
  private int forgotten;

  private boolean closed;

  /**
   * @param rows where messages are read to that are nothing but a row; null to read them elsewhere
   */
  MessageCutter(
      MessageLayout layout,
      ByteBufAllocator allocator,
      MemoryBudget memory,
      @Nullable RowBlocks rows,
      Taker taker) {
    this.layout = layout;
    this.allocator = allocator;
    this.memory = memory;
    this.taker = taker;
    size = layout.bytes();
    isLarge = size > SMALL_BYTES;
    this.rows = layout.isRow() && !isLarge ? rows : null;
  }

  /**
   * Where the next bytes had best be read to: what a large message under way lacks, or the place of
   * rows.
   *
   * @return the taker's to release, after {@link #read} had it; null when any place is as good
   */
  @Nullable ByteBuf lend() {
    if (forgotten > 0 || closed) {
      return null;
    }
    lent = isLarge ? lendLarge() : lendRows();
    return lent;
  }

  private @Nullable ByteBuf lendLarge() {
    LargeMessage into = large;
    if (into == null) {
      if (memory.take(size) != null) {
        return null; // it is forgotten when it comes
      }
      into = begin();
    }
    return into.rest();
  }

  private @Nullable ByteBuf lendRows() {
    returnRows();
    if (rows == null) {
      return null;
    }
    ByteBuf place = rows.lend(begun == null ? 0 : begun.readableBytes(), allocator);
    hasRows = place != null;
    return place;
  }

  private void returnRows() {
    if (hasRows && rows != null) {
      hasRows = false;
      rows.returned();
    }
  }

  /** Memory for it has been taken. */
  private LargeMessage begin() {
    try {
      LargeMessage fresh = LargeMessage.allocate(layout, allocator);
      large = fresh;
      return fresh;
    } catch (Throwable e) {
      memory.giveBack(size);
      throw e;
    }
  }

  /**
   * @param read borrowed
   */
  void read(ByteBuf read) {
    if (read == lent) {
      lent = null;
      if (large != null) {
        large.filled(read.readableBytes());
        read.skipBytes(read.readableBytes());
        endIfWhole(large);
      } else if (rows != null) {
        readRows(rows, read);
      }
      return;
    }
    while (read.isReadable() && !closed) {
      if (forgotten > 0) {
        int skipped = Math.min(forgotten, read.readableBytes());
        read.skipBytes(skipped);
        forgotten -= skipped;
      } else if (isLarge) {
        readLarge(read);
      } else {
        readSmall(read);
      }
    }
  }

  private void readRows(RowBlocks place, ByteBuf read) {
    try {
      ByteBuf first = begun;
      int head = first == null ? 0 : first.readableBytes();
      int count = (head + read.readableBytes()) / size;
      if (count > 0) {
        if (first != null) {
          place.head(first);
          endBegun(first);
        }
        read.skipBytes(count * size - head);
        taker.onRows(count);
      } else if (first != null) {
        first.writeBytes(read);
      }
      if (read.isReadable() && !closed) {
        beginSmall(read);
      }
    } finally {
      returnRows();
    }
  }

  private void endBegun(ByteBuf first) {
    begun = null;
    memory.giveBack(size);
    first.release();
  }

  /** What was there has been read. */
  void onReadComplete() {
    lent = null;
    returnRows();
    if (large != null && large.isEmpty()) { // it was made for bytes that did not come
      large.release();
      large = null;
      memory.giveBack(size);
    }
  }

  private void readLarge(ByteBuf read) {
    LargeMessage into = large;
    if (into == null) {
      String refusal = memory.take(size);
      if (refusal != null) {
        forget(read, refusal);
        return;
      }
      into = begin();
    }
    into.fill(read);
    endIfWhole(into);
  }

  private void endIfWhole(LargeMessage message) {
    if (message.missing() == 0) {
      large = null;
      memory.giveBack(size);
      taker.onLarge(message);
    }
  }

  private void readSmall(ByteBuf read) {
    ByteBuf first = begun;
    if (first != null) {
      first.writeBytes(read, Math.min(size - first.readableBytes(), read.readableBytes()));
      if (first.readableBytes() < size) {
        return;
      }
      begun = null;
      memory.giveBack(size);
    }
    try {
      int more = read.readableBytes() / size;
      int count = more + (first == null ? 0 : 1);
      if (count > 0) {
        taker.onMessages(new Messages(first, read, layout, count));
        read.skipBytes(more * size);
      }
    } finally {
      if (first != null) {
        first.release();
      }
    }
    if (read.isReadable() && !closed) {
      beginSmall(read);
    }
  }

  private void beginSmall(ByteBuf read) {
    String refusal = memory.take(size);
    if (refusal != null) {
      forget(read, refusal);
      return;
    }
    try {
      begun = allocator.directBuffer(size, size).writeBytes(read);
    } finally {
      if (begun == null) {
        memory.giveBack(size);
      }
    }
  }

  private void forget(ByteBuf read, String refusal) {
    int skipped = Math.min(size, read.readableBytes());
    read.skipBytes(skipped);
    forgotten = size - skipped;
    taker.onForgotten(refusal);
  }

  /** True when a message has begun to come and is not whole. */
  boolean isAmidMessage() {
    return begun != null || (large != null && !large.isEmpty()) || forgotten > 0;
  }

  /** Bytes that the message which has begun still lacks; 0 between messages. */
  int missing() {
    if (begun != null) {
      return size - begun.readableBytes();
    }
    return large != null && !large.isEmpty() ? large.missing() : forgotten;
  }

  /** Nothing more is read. Harmless when repeated. */
  void close() {
    closed = true;
    lent = null;
    returnRows();
    if (begun != null) {
      endBegun(begun);
    }
    if (large != null) {
      large.release();
      large = null;
      memory.giveBack(size);
    }
  }
}

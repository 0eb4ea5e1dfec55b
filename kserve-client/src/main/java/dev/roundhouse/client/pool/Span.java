package dev.roundhouse.client.pool;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Adjacent slots of a {@link BufferPool}, until they are given back. {@link #carve} is for one
 * thread.
 */
public final class Span implements AutoCloseable {
  private final BufferPool pool;
  private final int first;
  private final int count;
  private final MemorySegment memory;
  private final AtomicBoolean released = new AtomicBoolean();
  private long carved;

  Span(BufferPool pool, int first, int count) {
    this.pool = pool;
    this.first = first;
    this.count = count;
    memory = pool.memory(first, count);
  }

  /** Where it begins in the pool's memory, in bytes. */
  public long offset() {
    return pool.offset(first);
  }

  /** Bytes that are there, carved or not. */
  public long byteSize() {
    return memory.byteSize();
  }

  /**
   * The next so many bytes, which nobody else was given.
   *
   * @param alignment of where they begin, in the pool's memory: a power of two
   * @throws IllegalArgumentException when not so many are left
   * @throws IllegalStateException when the span has been given back
   */
  public MemorySegment carve(long bytes, long alignment) {
    if (released.get()) {
      throw new IllegalStateException("the span has been given back");
    }
    if (Long.bitCount(alignment) != 1) {
      throw new IllegalArgumentException("an alignment is a power of two, got " + alignment);
    }
    long begin = Math.ceilDiv(offset() + carved, alignment) * alignment - offset();
    if (bytes < 0 || bytes > byteSize() - begin) {
      throw new IllegalArgumentException(
          "%d bytes do not fit behind the first %d of a span of %d"
              .formatted(bytes, begin, byteSize()));
    }
    carved = begin + bytes;
    return memory.asSlice(begin, bytes);
  }

  /** Where what was carved lies in the pool's memory, in bytes. */
  public long offsetOf(MemorySegment piece) {
    return offset() + piece.address() - memory.address();
  }

  /**
   * Gives the slots back; do not touch the span afterwards.
   *
   * @throws IllegalStateException the second time
   */
  @Override
  public void close() {
    if (released.getAndSet(true)) {
      throw new IllegalStateException("the span has been given back already");
    }
    pool.release(first, count);
  }
}

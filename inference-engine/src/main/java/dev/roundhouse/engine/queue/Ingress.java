package dev.roundhouse.engine.queue;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * Bounded hand-over from many threads to one, without locks. A full one refuses; nobody waits.
 *
 * <p>{@link #offer} may be called by any thread, {@link #poll} by the owner only. Each cell carries
 * a sequence number that says whose turn it is (Vyukov's bounded queue), so producers contend on
 * one counter and never on the consumer's.
 */
public final class Ingress<T> {
  private static final VarHandle LONGS = MethodHandles.arrayElementVarHandle(long[].class);

  /** In the middle of arrays that keep other data off the counters' cache lines. */
  private static final int COUNTER = 8;

  private final @Nullable Object[] cells;
  private final long[] sequences;
  private final int mask;
  private final long[] tail = new long[2 * COUNTER + 1];
  private final long[] head = new long[2 * COUNTER + 1];

  /**
   * @param capacity rounded up to a power of two
   */
  public Ingress(int capacity) {
    if (capacity < 2 || capacity > 1 << 24) {
      throw new IllegalArgumentException("ingress capacity " + capacity + " is not in 2..16777216");
    }
    int size = Integer.highestOneBit(capacity - 1) << 1;
    cells = new @Nullable Object[size];
    sequences = new long[size];
    for (int i = 0; i < size; i++) {
      sequences[i] = i;
    }
    mask = size - 1;
  }

  public int capacity() {
    return mask + 1;
  }

  /** Hands an item over; false when full. */
  public boolean offer(T item) {
    while (true) {
      long position = (long) LONGS.getVolatile(tail, COUNTER);
      int cell = (int) position & mask;
      long sequence = (long) LONGS.getAcquire(sequences, cell);
      if (sequence < position) {
        return false;
      }
      if (sequence == position && LONGS.compareAndSet(tail, COUNTER, position, position + 1)) {
        cells[cell] = item;
        LONGS.setRelease(sequences, cell, position + 1);
        return true;
      }
    }
  }

  /** Takes the oldest item; null when there is none. Owner only. */
  @SuppressWarnings("unchecked")
  public @Nullable T poll() {
    long position = head[COUNTER];
    int cell = (int) position & mask;
    if ((long) LONGS.getAcquire(sequences, cell) != position + 1) {
      return null;
    }
    Object item = cells[cell];
    cells[cell] = null;
    LONGS.setRelease(sequences, cell, position + mask + 1);
    head[COUNTER] = position + 1;
    return (T) item;
  }

  /** True when nothing can be taken right now. Owner only. */
  public boolean isEmpty() {
    long position = head[COUNTER];
    return (long) LONGS.getVolatile(sequences, (int) position & mask) != position + 1;
  }
}

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
  private static final VarHandle TAIL;
  private static final VarHandle SEQUENCE = MethodHandles.arrayElementVarHandle(long[].class);

  static {
    try {
      TAIL = MethodHandles.lookup().findVarHandle(Ingress.class, "tail", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final @Nullable Object[] cells;
  private final long[] sequences;
  private final int mask;

  @SuppressWarnings("FieldMayBeFinal") // written through TAIL
  private volatile long tail;

  private long head;

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
      long position = (long) TAIL.getVolatile(this);
      int cell = (int) position & mask;
      long sequence = (long) SEQUENCE.getAcquire(sequences, cell);
      if (sequence < position) {
        return false;
      }
      if (sequence == position && TAIL.compareAndSet(this, position, position + 1)) {
        cells[cell] = item;
        SEQUENCE.setRelease(sequences, cell, position + 1);
        return true;
      }
    }
  }

  /** Takes the oldest item; null when there is none. Owner only. */
  @SuppressWarnings("unchecked")
  public @Nullable T poll() {
    int cell = (int) head & mask;
    if ((long) SEQUENCE.getAcquire(sequences, cell) != head + 1) {
      return null;
    }
    Object item = cells[cell];
    cells[cell] = null;
    SEQUENCE.setRelease(sequences, cell, head + mask + 1);
    head++;
    return (T) item;
  }

  /** True when nothing can be taken right now. Owner only. */
  public boolean isEmpty() {
    return (long) SEQUENCE.getVolatile(sequences, (int) head & mask) != head + 1;
  }
}

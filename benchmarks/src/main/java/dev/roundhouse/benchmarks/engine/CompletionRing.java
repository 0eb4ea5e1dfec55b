package dev.roundhouse.benchmarks.engine;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;

/**
 * Slots whose request is over, from threads of the engine's to the caller's: a bounded ring, and a
 * caller that looks for a while before it sleeps. The peer has the same one.
 */
final class CompletionRing {
  private static final VarHandle CELLS = MethodHandles.arrayElementVarHandle(int[].class);

  private static final VarHandle POSITIONS = MethodHandles.arrayElementVarHandle(long[].class);

  private static final int POSITION = 8;

  private final int[] cells;
  private final int mask;
  private final Thread caller;
  private volatile boolean waiting;

  // In the middle of arrays, so that each side's position is on a cache line of its own.
  private final long[] head = new long[2 * POSITION + 1]; // the caller's
  private final long[] tail = new long[2 * POSITION + 1]; // the producers'

  /**
   * @param capacity most slots at once; a power of two
   * @param caller the only one that takes
   */
  CompletionRing(int capacity, Thread caller) {
    if (Integer.bitCount(capacity) != 1) {
      throw new IllegalArgumentException("capacity " + capacity + " is not a power of two");
    }
    this.cells = new int[capacity];
    this.mask = capacity - 1;
    this.caller = caller;
  }

  /** Never called with more slots outstanding than the capacity. */
  void put(int slot) {
    long at = (long) POSITIONS.getAndAdd(tail, POSITION, 1L);
    CELLS.setVolatile(cells, (int) at & mask, slot + 1);
    if (waiting) {
      LockSupport.unpark(caller);
    }
  }

  /**
   * The next slot; waits for it.
   *
   * @param spinNanos how long to look before sleeping
   */
  int take(long spinNanos) {
    int slot = poll();
    if (slot >= 0) {
      return slot;
    }
    long end = System.nanoTime() + spinNanos;
    do {
      Thread.onSpinWait();
      slot = poll();
      if (slot >= 0) {
        return slot;
      }
    } while (System.nanoTime() < end);
    waiting = true;
    while ((slot = poll()) < 0) {
      LockSupport.park(this);
    }
    waiting = false;
    return slot;
  }

  /** The next slot, or -1. */
  private int poll() {
    int index = (int) head[POSITION] & mask;
    int taken = (int) CELLS.getVolatile(cells, index);
    if (taken == 0) {
      return -1;
    }
    CELLS.setRelease(cells, index, 0);
    head[POSITION]++;
    return taken - 1;
  }
}

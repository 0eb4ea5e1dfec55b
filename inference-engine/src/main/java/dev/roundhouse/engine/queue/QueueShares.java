package dev.roundhouse.engine.queue;

import java.util.concurrent.atomic.AtomicIntegerArray;

/**
 * Reserves room in each model's queue for light callers: beyond a full queue, an eighth more is for
 * those with almost nothing open at that model. So no caller can shut others out, and a single
 * caller has the whole queue. Callers are numbers hashed into a fixed table: two may collide.
 * Thread-safe.
 */
public final class QueueShares {
  /** Of a request whose caller is not known; it has no part in the reserve. */
  public static final int NO_CALLER = 0;

  static final int NOT_COUNTED = -1;
  private static final int RESERVE_PART = 8;
  private static final int MODEST_PART = 64;
  private static final int CELL_BITS = 12;

  private final AtomicIntegerArray open = new AtomicIntegerArray(1 << CELL_BITS);

  /** Where the requests of a caller for a model are counted. */
  public int cell(int caller, int modelIndex) {
    if (caller == NO_CALLER) {
      return NOT_COUNTED;
    }
    int mixed = (caller ^ modelIndex * 0x85EB_CA6B) * 0x9E37_79B9;
    return mixed >>> (Integer.SIZE - CELL_BITS);
  }

  /**
   * Requests that may wait when this caller asks: more than {@code depth} when it has so little
   * open that the reserve is for it.
   */
  public int depth(int cell, int depth) {
    if (cell == NOT_COUNTED || open.get(cell) >= Math.max(1, depth / MODEST_PART)) {
      return depth;
    }
    return (int) Math.min(Integer.MAX_VALUE, (long) depth + Math.max(1, depth / RESERVE_PART));
  }

  /** A request of a caller has been accepted; it counts until {@link #leave}. */
  public void enter(int cell) {
    if (cell != NOT_COUNTED) {
      open.getAndIncrement(cell);
    }
  }

  void leave(int cell) {
    if (cell != NOT_COUNTED) {
      open.getAndDecrement(cell);
    }
  }
}

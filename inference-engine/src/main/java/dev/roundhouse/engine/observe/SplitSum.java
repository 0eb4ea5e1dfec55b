package dev.roundhouse.engine.observe;

import java.util.concurrent.atomic.LongAdder;

/** A sum that an owner and others add to, each on their side; see {@link Ledger}. Thread-safe. */
public final class SplitSum {
  /** In the middle of an array that keeps other data off its cache line. */
  static final int OWNED = 8;

  final long[] owned = new long[2 * OWNED + 1];
  final LongAdder shared = new LongAdder();

  public long get() {
    return shared.sum() + (long) Ledger.CELLS.getAcquire(owned, OWNED);
  }
}

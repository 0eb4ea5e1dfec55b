package dev.roundhouse.gateway.route;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Keeps second requests to a share of all: each call adds a share of one, and a bounded number is
 * saved up. Starts empty. Thread-safe.
 */
final class HedgeBudget {
  /** What one second request takes. */
  private static final long ONE = 1_000_000;

  /** The most that may follow in a burst, after many calls without one. */
  private static final long MOST_SAVED = 10 * ONE;

  private final long perCall;
  private final AtomicLong saved = new AtomicLong();

  HedgeBudget(double maxShare) {
    perCall = Math.round(maxShare * ONE);
  }

  /** A call that may be hedged has begun. */
  void call() {
    if (saved.get() < MOST_SAVED) {
      saved.addAndGet(perCall);
    }
  }

  /** False, taking nothing, when the share is used up. */
  boolean take() {
    while (true) {
      long before = saved.get();
      if (before < ONE) {
        return false;
      }
      if (saved.compareAndSet(before, before - ONE)) {
        return true;
      }
    }
  }

  /** What was taken was not used. */
  void giveBack() {
    saved.addAndGet(ONE);
  }
}

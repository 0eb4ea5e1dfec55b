package dev.roundhouse.platform.access;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * What somebody may send in a second. Whoever has sent nothing for a second may send a second's
 * worth at once. A piece that is larger than that is let through when nothing is owed, and has to
 * be made up for before the next. Thread-safe.
 */
final class Quota {
  private static final double SECOND = TimeUnit.SECONDS.toNanos(1);

  private final double nanosPerUnit;
  private final LongSupplier nanoTime;

  /** When all that was sent will be made up for. */
  private final AtomicLong evenAt;

  Quota(double perSecond, LongSupplier nanoTime) {
    nanosPerUnit = SECOND / perSecond;
    this.nanoTime = nanoTime;
    evenAt = new AtomicLong(nanoTime.getAsLong());
  }

  /**
   * Takes so many units when there is room.
   *
   * @return 0 when they are taken, otherwise nanoseconds until there may be room
   */
  long take(long units) {
    long cost = (long) (units * nanosPerUnit);
    while (true) {
      long now = nanoTime.getAsLong();
      long even = evenAt.get();
      long owed = Math.max(0, even - now);
      if (owed > 0 && owed + cost > SECOND) {
        return Math.min(owed, owed + cost - (long) SECOND);
      }
      if (evenAt.compareAndSet(even, now + owed + cost)) {
        return 0;
      }
    }
  }

  /** Counts units that have come whether or not there was room. */
  void add(long units) {
    long now = nanoTime.getAsLong();
    long more = (long) (units * nanosPerUnit);
    evenAt.updateAndGet(even -> Math.max(even, now) + more);
  }

  /** True when nothing more is let through now. */
  long waitNanos() {
    long from = evenAt.get() - nanoTime.getAsLong();
    return from >= SECOND ? from - (long) SECOND + 1 : 0;
  }
}

package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.time.NanoClock;
import java.util.concurrent.atomic.AtomicLong;

/**
 * How long weights have been on their way to the device, however many at once. The dispatch thread
 * writes, when the first load begins and when the last one ends; any thread may read, and sees no
 * sum fall.
 */
final class LinkTime {
  private static final long FREE = Long.MIN_VALUE;

  private final NanoClock clock;
  private volatile Spell spell = new Spell(0, FREE);

  /** An end is written a moment after it was, and until then more was told. */
  private final AtomicLong told = new AtomicLong();

  /**
   * @param beforeNanos of the spells before
   * @param sinceNanos of this one, or {@link #FREE}
   */
  private record Spell(long beforeNanos, long sinceNanos) {}

  LinkTime(NanoClock clock) {
    this.clock = clock;
  }

  /** Weights are on their way; harmless when others were. */
  void busy(long nowNanos) {
    Spell last = spell;
    if (last.sinceNanos == FREE) {
      spell = new Spell(last.beforeNanos, nowNanos);
    }
  }

  /** None are any more. */
  void free(long atNanos) {
    Spell last = spell;
    if (last.sinceNanos != FREE) {
      spell = new Spell(last.beforeNanos + Math.max(0, atNanos - last.sinceNanos), FREE);
    }
  }

  /** Until now. */
  long nanos() {
    Spell now = spell;
    long running = now.sinceNanos == FREE ? 0 : Math.max(0, clock.nanoTime() - now.sinceNanos);
    return told.accumulateAndGet(now.beforeNanos + running, Math::max);
  }
}

package dev.roundhouse.engine.hook;

import dev.roundhouse.engine.time.NanoClock;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * Runs that wait for room for their scratch, first come, first served. Who waits holds none, so
 * those that hold some can end. Thread-safe.
 */
final class ScratchLine {
  /** Only the first in line looks, and only while there is no room. */
  private static final long LOOK_NANOS = TimeUnit.MICROSECONDS.toNanos(500);

  private final NanoClock clock;
  private final Semaphore first = new Semaphore(1, true);

  ScratchLine(NanoClock clock) {
    this.clock = clock;
  }

  /**
   * Waits until there is room.
   *
   * @param takes takes it, if there is
   * @param deadlineNanos when to give up; {@link Long#MAX_VALUE} for never
   * @return false when the deadline has passed
   */
  boolean await(BooleanSupplier takes, long deadlineNanos) throws InterruptedException {
    if (!first.tryAcquire(left(deadlineNanos), TimeUnit.NANOSECONDS)) {
      return false;
    }
    try {
      while (!takes.getAsBoolean()) {
        long left = left(deadlineNanos);
        if (left <= 0) {
          return false;
        }
        TimeUnit.NANOSECONDS.sleep(Math.min(left, LOOK_NANOS));
      }
      return true;
    } finally {
      first.release();
    }
  }

  private long left(long deadlineNanos) {
    return deadlineNanos == Long.MAX_VALUE ? Long.MAX_VALUE : deadlineNanos - clock.nanoTime();
  }
}

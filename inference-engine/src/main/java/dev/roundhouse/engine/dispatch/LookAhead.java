package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.batch.BatchSlot;

/**
 * When the loop turns to the run under way again: to arm the next batch shortly before it is
 * expected to end, and to see it end. Uses the recent mean of its program. Not thread-safe.
 */
final class LookAhead {
  /**
   * How long before the expected end of a run the next batch is armed, plus twice the recent arming
   * time and this thread's wake-up lateness. The later, the fewer requests arrive afterwards and
   * force the batch to be formed again.
   */
  private static final long ARM_AHEAD_NANOS = 100_000;

  /**
   * Beside shorter runs nothing is armed: making a batch up twice costs more than it saves.
   * Sleeping does not pay either: a wake-up takes as long.
   */
  private static final long SHORT_RUN_NANOS = 30_000;

  /** How long after its expected end a run is about to end. */
  private static final long LATE_END_NANOS = 60_000;

  private long armingNanos;
  private long wakeLateNanos;

  /** Takes note of how long it took to arm a batch. */
  void armedIn(long nanos) {
    armingNanos += (nanos - armingNanos) / 8;
  }

  /** Takes note of how late the thread that turns the loop wakes when it sleeps for a set time. */
  void wakesLateBy(long nanos) {
    wakeLateNanos = nanos;
  }

  /** True for a run beside which nothing is armed and nobody sleeps. */
  boolean isShort(BatchSlot run) {
    return run.expectedNanos() < SHORT_RUN_NANOS;
  }

  /** When the loop must be awake. */
  long attendAtNanos(BatchSlot run) {
    return endNanos(run) - ARM_AHEAD_NANOS - 2 * armingNanos - wakeLateNanos;
  }

  /** True when the run is about to end. */
  boolean isEndNear(BatchSlot run, long nowNanos) {
    return nowNanos >= attendAtNanos(run) && nowNanos < endNanos(run) + LATE_END_NANOS;
  }

  private static long endNanos(BatchSlot run) {
    return run.startedNanos() + run.expectedNanos();
  }
}

package dev.roundhouse.engine.dispatch;

/**
 * How late the operating system wakes a thread that sleeps for a set time: close to the recent
 * worst, fading. Linux adds 50 us by default, a busy or virtual machine more. Not thread-safe.
 */
final class WakeLateness {
  /** Linux's default timer slack. */
  static final long AT_FIRST_NANOS = 50_000;

  /** A later wake-up waited for a processor; sleeping less would not help. */
  static final long MOST_NANOS = 250_000;

  private static final int FADES_IN_SLEEPS = 32;

  private long nanos = AT_FIRST_NANOS;

  /** Notes a sleep that was not cut short. */
  void woke(long lateNanos) {
    long late = Math.clamp(lateNanos, 0, MOST_NANOS);
    nanos = Math.max(late, nanos - (nanos - late) / FADES_IN_SLEEPS);
  }

  long nanos() {
    return nanos;
  }
}

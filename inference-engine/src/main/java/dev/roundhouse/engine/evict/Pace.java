package dev.roundhouse.engine.evict;

/** How long it takes from one use of any model to the next, over the last thousand or so. */
final class Pace {
  private static final int MEMORY = 1_000;

  private int gaps;
  private boolean started;
  private long lastNanos;
  private double meanNanos;

  void used(long nowNanos) {
    if (started) {
      gaps = Math.min(gaps + 1, MEMORY);
      meanNanos += (nowNanos - lastNanos - meanNanos) / gaps;
    }
    started = true;
    lastNanos = nowNanos;
  }

  /** Infinite before the second use; a silence of now counts as soon as it is longer than that. */
  double nanosPerUse(long nowNanos) {
    return gaps == 0 ? Double.POSITIVE_INFINITY : Math.max(meanNanos, nowNanos - lastNanos);
  }
}

package dev.roundhouse.gateway.route;

import java.util.Arrays;

/** How long a model's latest calls waited for the start of their answers. Thread-safe. */
final class FirstAnswers {
  /** Calls that are kept. */
  private static final int MOST = 512;

  /** Calls needed for a meaningful quantile. */
  static final int LEAST = 100;

  /** Calls between computations of the quantile, which sort. */
  private static final int STEP = 50;

  private static final int NANOS_PER_MICRO = 1_000;

  private final double quantile;
  private final int[] micros = new int[MOST];
  private long seen;

  /** The latest quantile; 0 until there are enough calls. */
  private volatile long nanos;

  FirstAnswers(double quantile) {
    this.quantile = quantile;
  }

  synchronized void add(long waitedNanos) {
    long waited = Math.clamp(waitedNanos / NANOS_PER_MICRO, 0, Integer.MAX_VALUE);
    micros[(int) (seen % MOST)] = (int) waited;
    seen++;
    if (seen >= LEAST && seen % STEP == 0) {
      nanos = take();
    }
  }

  private long take() {
    int[] sorted = Arrays.copyOf(micros, (int) Math.min(seen, MOST));
    Arrays.sort(sorted);
    int place = (int) Math.ceil(quantile * sorted.length) - 1;
    return (long) sorted[Math.clamp(place, 0, sorted.length - 1)] * NANOS_PER_MICRO;
  }

  /** The quantile; 0 while there are too few calls. */
  long nanos() {
    return nanos;
  }
}

package dev.roundhouse.engine.schedule;

import java.util.Arrays;

/**
 * What a run of one program costs: a mean that follows, and a high quantile of the latest runs. Not
 * thread-safe for writing; the figures may be read by any thread.
 */
public final class CostEstimate {
  /** What is assumed of a program that has never run. ReactantServer's figure. */
  public static final long UNKNOWN_NANOS = 10_000_000;

  private static final int WINDOW = 32;

  private final double alpha;
  private final long[] latest = new long[WINDOW];
  private int runs;
  private volatile double meanNanos = UNKNOWN_NANOS;
  private volatile long highNanos = UNKNOWN_NANOS;

  /**
   * @param alpha how much the latest run counts in the mean, in (0, 1]
   */
  public CostEstimate(double alpha) {
    if (!(alpha > 0 && alpha <= 1)) {
      throw new IllegalArgumentException("cost alpha " + alpha + " is not in (0, 1]");
    }
    this.alpha = alpha;
  }

  /** Takes a measured run into account. */
  public void record(long nanos) {
    meanNanos = runs == 0 ? nanos : alpha * nanos + (1 - alpha) * meanNanos;
    latest[runs % WINDOW] = nanos;
    runs = runs == Integer.MAX_VALUE ? WINDOW : runs + 1;
    highNanos = secondHighest();
  }

  /**
   * Casts doubt on the high figure, because something was dropped on its account. The highest of
   * the latest runs is forgotten: was it an accident, the figure falls and the next request may run
   * and prove it; was it the rule, the others say the same.
   */
  public void doubt() {
    int count = Math.min(runs, WINDOW);
    if (count < 2) {
      highNanos /= 2;
      return;
    }
    int highest = 0;
    for (int i = 1; i < count; i++) {
      if (latest[i] > latest[highest]) {
        highest = i;
      }
    }
    latest[highest] = median(count);
    highNanos = secondHighest();
  }

  public double meanNanos() {
    return meanNanos;
  }

  /** Second highest of the latest 32 runs, about the 95th percentile; the highest while few ran. */
  public long highNanos() {
    return highNanos;
  }

  private long median(int count) {
    long[] sorted = Arrays.copyOf(latest, count);
    Arrays.sort(sorted);
    return sorted[(count - 1) / 2];
  }

  private long secondHighest() {
    int count = Math.min(runs, WINDOW);
    long highest = 0;
    long second = 0;
    for (int i = 0; i < count; i++) {
      long nanos = latest[i];
      if (nanos > highest) {
        second = highest;
        highest = nanos;
      } else if (nanos > second) {
        second = nanos;
      }
    }
    return count < WINDOW / 2 ? highest : second;
  }
}

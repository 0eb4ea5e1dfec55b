package dev.roundhouse.engine.schedule;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;

/**
 * What a run of one program costs: a mean that follows, and a high quantile of the latest runs.
 * Written by one thread; the figures may be read by any.
 */
public final class CostEstimate {
  /** What is assumed of a program that has never run. ReactantServer's figure. */
  public static final long UNKNOWN_NANOS = 10_000_000;

  /** {@link #measuredNanos} of a program that has never run. */
  public static final long NEVER = Long.MIN_VALUE;

  private static final int WINDOW = 32;
  private static final VarHandle MEAN;
  private static final VarHandle HIGH;
  private static final VarHandle MEASURED;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      MEAN = lookup.findVarHandle(CostEstimate.class, "meanNanos", double.class);
      HIGH = lookup.findVarHandle(CostEstimate.class, "highNanos", long.class);
      MEASURED = lookup.findVarHandle(CostEstimate.class, "measuredNanos", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final double alpha;
  /** Grows as runs come in: most programs of a large fleet have run once, to warm up. */
  private long[] latest = new long[2];

  private int runs;
  private int next;

  // The two highest of the latest runs, so that most records need not look at all of them.
  private long highest;
  private long second;

  private double meanNanos = UNKNOWN_NANOS;
  private long highNanos = UNKNOWN_NANOS;
  private long measuredNanos = NEVER;

  /**
   * @param alpha how much the latest run counts in the mean, in (0, 1]
   */
  public CostEstimate(double alpha) {
    if (!(alpha > 0 && alpha <= 1)) {
      throw new IllegalArgumentException("cost alpha " + alpha + " is not in (0, 1]");
    }
    this.alpha = alpha;
  }

  /**
   * Takes what an earlier process learned for granted until something is measured.
   *
   * @throws IllegalStateException when something has been measured already
   */
  public void assume(double mean, long high) {
    if (runs > 0) {
      throw new IllegalStateException("a measured cost is not replaced by an assumed one");
    }
    setFigures(mean, high);
    latest[0] = high;
    highest = high;
    runs = 1;
    next = 1;
  }

  /**
   * Takes a measured run into account.
   *
   * @param nowNanos when it ended
   */
  public void record(long nanos, long nowNanos) {
    double mean = runs == 0 ? nanos : alpha * nanos + (1 - alpha) * meanNanos;
    if (next == latest.length) {
      latest = Arrays.copyOf(latest, Math.min(2 * next, WINDOW));
    }
    long evicted = latest[next];
    latest[next] = nanos;
    next = (next + 1) % WINDOW;
    runs = Math.min(runs + 1, WINDOW);
    if (evicted >= second && evicted > 0) {
      findHighest();
    } else {
      rank(nanos);
    }
    setFigures(mean, high());
    MEASURED.setRelease(this, nowNanos);
  }

  /**
   * Casts doubt on the high figure, because something was dropped on its account. The highest of
   * the latest runs is forgotten: was it an accident, the figure falls and the next request may run
   * and prove it; was it the rule, the others say the same.
   */
  public void doubt() {
    if (runs < 2) {
      setFigures(meanNanos, highNanos / 2);
      return;
    }
    int worst = 0;
    for (int i = 1; i < runs; i++) {
      if (latest[i] > latest[worst]) {
        worst = i;
      }
    }
    latest[worst] = median();
    findHighest();
    setFigures(meanNanos, high());
  }

  public double meanNanos() {
    return (double) MEAN.getAcquire(this);
  }

  /** Second highest of the latest 32 runs, about the 95th percentile; the highest while few ran. */
  public long highNanos() {
    return (long) HIGH.getAcquire(this);
  }

  /** When the latest run ended; {@link #NEVER} when none has in this process. */
  public long measuredNanos() {
    return (long) MEASURED.getAcquire(this);
  }

  private void setFigures(double mean, long high) {
    MEAN.setRelease(this, mean);
    HIGH.setRelease(this, high);
  }

  private long high() {
    return runs < WINDOW / 2 ? highest : second;
  }

  private long median() {
    long[] sorted = Arrays.copyOf(latest, runs);
    Arrays.sort(sorted);
    return sorted[(runs - 1) / 2];
  }

  private void findHighest() {
    highest = 0;
    second = 0;
    for (int i = 0; i < runs; i++) {
      rank(latest[i]);
    }
  }

  private void rank(long nanos) {
    if (nanos > highest) {
      second = highest;
      highest = nanos;
    } else if (nanos > second) {
      second = nanos;
    }
  }
}

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

  /** A figure unconfirmed for this long is not held against a request. */
  public static final long MAX_AGE_NANOS = 10_000_000_000L;

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

  @SuppressWarnings("UnusedVariable") // read through HIGH
  private long highNanos = UNKNOWN_NANOS;

  @SuppressWarnings("UnusedVariable") // read through MEASURED
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

  public double meanNanos() {
    return (double) MEAN.getAcquire(this);
  }

  /** Second highest of the latest 32 runs, about the 95th percentile; of a single run, that run. */
  public long highNanos() {
    return (long) HIGH.getAcquire(this);
  }

  /**
   * {@link #highNanos}, if a recent run has confirmed it; else 0. Requests are dropped and refused
   * because of this figure, after which no run may happen to correct it: so it expires.
   */
  public long confirmedHighNanos(long nowNanos) {
    long measured = measuredNanos();
    return measured == NEVER || nowNanos - measured > MAX_AGE_NANOS ? 0 : highNanos();
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
    return runs == 1 ? highest : second;
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

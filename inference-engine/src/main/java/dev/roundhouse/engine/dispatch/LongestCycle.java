package dev.roundhouse.engine.dispatch;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * The longest time from one choice to the next while there was work, device calls included: ever,
 * and of late. Written by the dispatch thread; any thread may ask.
 */
final class LongestCycle {
  /** Windows of 2^35 ns, 34 s: of late is this one and the one before. */
  private static final int WINDOW_BITS = 35;

  /** What is left of a cell beside its window's number; longer cycles count as this long. */
  private static final int NANOS_BITS = 40;

  private static final long MOST_NANOS = (1L << NANOS_BITS) - 1;

  private boolean cycling;
  private long startNanos;
  private volatile long longestNanos;

  /** Of even and of odd windows: the end of the latest one's number, and its longest cycle. */
  private final AtomicLongArray windows = new AtomicLongArray(2);

  /** A choice is about to be made. */
  void began(long nowNanos) {
    if (cycling) {
      took(nowNanos - startNanos, nowNanos);
    }
    cycling = true;
    startNanos = nowNanos;
  }

  private void took(long nanos, long nowNanos) {
    long window = nowNanos >> WINDOW_BITS;
    long cell = Math.min(nanos, MOST_NANOS) | window << NANOS_BITS;
    int parity = (int) (window & 1);
    long before = windows.getPlain(parity);
    // Of the same window, the longer is the larger.
    if (before >> NANOS_BITS != cell >> NANOS_BITS || nanosOf(before) < nanosOf(cell)) {
      windows.setRelease(parity, cell);
    }
    if (nanos > longestNanos) {
      longestNanos = nanos;
    }
  }

  /** A turn has found nothing to do. */
  void idle() {
    cycling = false;
  }

  /** Since the start. */
  long longestNanos() {
    return longestNanos;
  }

  /** Of the last 34 seconds at least, and of no more than the last 69. */
  long recentNanos(long nowNanos) {
    long window = nowNanos >> WINDOW_BITS;
    return Math.max(of(window), of(window - 1));
  }

  private long of(long window) {
    long cell = windows.getAcquire((int) (window & 1));
    return cell >> NANOS_BITS == window << NANOS_BITS >> NANOS_BITS ? nanosOf(cell) : 0;
  }

  private static long nanosOf(long cell) {
    return cell & MOST_NANOS;
  }
}

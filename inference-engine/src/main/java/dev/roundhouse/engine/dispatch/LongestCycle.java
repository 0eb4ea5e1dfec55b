package dev.roundhouse.engine.dispatch;

/**
 * The longest time from one choice to the next while there was work, device calls included. Written
 * by the dispatch thread; any thread may ask.
 */
final class LongestCycle {
  private boolean cycling;
  private long startNanos;
  private volatile long longestNanos;

  /** A choice is about to be made. */
  void began(long nowNanos) {
    if (cycling && nowNanos - startNanos > longestNanos) {
      longestNanos = nowNanos - startNanos;
    }
    cycling = true;
    startNanos = nowNanos;
  }

  /** A turn has found nothing to do. */
  void idle() {
    cycling = false;
  }

  long longestNanos() {
    return longestNanos;
  }
}

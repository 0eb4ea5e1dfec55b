package dev.roundhouse.devicecheck.step;

import java.time.Duration;
import java.util.Arrays;

/** Times of the same thing done again and again, ascending, in nanoseconds. */
record Repeated(long[] nanos) {
  private static final int LEAST = 3;
  private static final int MOST = 2_000;

  /** Runs it once unmeasured, then for that long; three times at least. */
  static Repeated within(Duration time, Runnable task) {
    task.run();
    long[] taken = new long[MOST];
    int count = 0;
    long begin = System.nanoTime();
    while (count < MOST && (count < LEAST || System.nanoTime() - begin < time.toNanos())) {
      long start = System.nanoTime();
      task.run();
      taken[count++] = System.nanoTime() - start;
    }
    long[] sorted = Arrays.copyOf(taken, count);
    Arrays.sort(sorted);
    return new Repeated(sorted);
  }

  int count() {
    return nanos.length;
  }

  double medianNanos() {
    return nanos[nanos.length / 2];
  }

  double leastNanos() {
    return nanos[0];
  }
}

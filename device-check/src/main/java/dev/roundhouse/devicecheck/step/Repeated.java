package dev.roundhouse.devicecheck.step;

import java.time.Duration;
import java.util.Arrays;
import java.util.function.LongSupplier;

/** Times of the same thing done again and again, ascending, in nanoseconds. */
record Repeated(long[] nanos) {
  private static final int LEAST = 3;
  private static final int MOST = 2_000;

  /** Runs it once unmeasured, then for that long; three times at least. */
  static Repeated within(Duration time, Runnable task) {
    return within(
        time,
        () -> {
          long start = System.nanoTime();
          task.run();
          return System.nanoTime() - start;
        });
  }

  /** As {@link #within(Duration, Runnable)}, with a task that says how long its point has taken. */
  static Repeated within(Duration time, LongSupplier nanosOfOne) {
    long unused = nanosOfOne.getAsLong(); // the first is slower
    long[] taken = new long[MOST];
    int count = 0;
    long begin = System.nanoTime();
    while (count < MOST && (count < LEAST || System.nanoTime() - begin < time.toNanos())) {
      taken[count++] = nanosOfOne.getAsLong();
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

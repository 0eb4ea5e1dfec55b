package dev.roundhouse.benchmarks.client;

import java.util.Arrays;

/** How long each request took. */
public final class Latencies {
  private long[] nanos = new long[1024];
  private int count;

  public void add(long latencyNanos) {
    if (count == nanos.length) {
      nanos = Arrays.copyOf(nanos, 2 * count);
    }
    nanos[count++] = latencyNanos;
  }

  int count() {
    return count;
  }

  long[] nanos() {
    return Arrays.copyOf(nanos, count);
  }
}

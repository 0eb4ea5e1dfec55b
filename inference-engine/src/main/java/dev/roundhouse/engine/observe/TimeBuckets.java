package dev.roundhouse.engine.observe;

import java.util.Arrays;

/**
 * Counts times into the buckets of a {@link TimeHistogram}. Has memory for the doublings between
 * the shortest and the longest so far: counting allocates only when a time is outside of them.
 * Guarded by whoever has it.
 */
final class TimeBuckets {
  private static final int STEP = TimeHistogram.BUCKETS_PER_DOUBLING;
  private static final long[] NONE = {};

  private int first;
  private long[] counts = NONE;

  void add(int bucket) {
    int at = bucket - first;
    if (at < 0 || at >= counts.length) {
      at = makeRoom(bucket);
    }
    counts[at]++;
  }

  private int makeRoom(int bucket) {
    int low = Math.floorDiv(bucket, STEP) * STEP;
    int high = low + STEP;
    if (counts.length > 0) {
      low = Math.min(low, first);
      high = Math.max(high, first + counts.length);
    }
    long[] wider = new long[high - low];
    System.arraycopy(counts, 0, wider, counts.length == 0 ? 0 : first - low, counts.length);
    counts = wider;
    first = low;
    return bucket - low;
  }

  TimeHistogram read() {
    long[] seen = counts;
    return TimeHistogram.of(first, Arrays.copyOf(seen, seen.length));
  }
}

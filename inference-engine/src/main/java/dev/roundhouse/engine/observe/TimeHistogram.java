package dev.roundhouse.engine.observe;

import java.util.Arrays;

/**
 * How often times of which length came. Bucket {@code i} has those up to 2^(i/{@value
 * #BUCKETS_PER_DOUBLING}) seconds that bucket {@code i - 1} has not: what Prometheus' native
 * histograms have at schema 3, so that a quantile is off by at most 4.4 %. Immutable.
 */
public final class TimeHistogram {
  public static final int BUCKETS_PER_DOUBLING = 8;

  public static final TimeHistogram EMPTY = new TimeHistogram(0, new long[0]);

  private static final int CELL_BITS = 6;
  private static final int MANTISSA_BITS = 52;
  private static final int EXPONENT_BIAS = 1023;
  private static final long MANTISSA = (1L << MANTISSA_BITS) - 1;

  /** Mantissas of the bounds within a doubling; above the last is none. */
  private static final long[] BOUNDS = new long[BUCKETS_PER_DOUBLING + 1];

  /** By a mantissa's leading bits: the first bound that is not below any with those bits. */
  private static final byte[] FIRST = new byte[1 << CELL_BITS];

  static {
    for (int i = 0; i < BUCKETS_PER_DOUBLING; i++) {
      double bound = Math.pow(2, (double) i / BUCKETS_PER_DOUBLING);
      BOUNDS[i] = Double.doubleToRawLongBits(bound) & MANTISSA;
    }
    BOUNDS[BUCKETS_PER_DOUBLING] = MANTISSA;
    for (int cell = 0; cell < FIRST.length; cell++) {
      long least = (long) cell << (MANTISSA_BITS - CELL_BITS);
      while (BOUNDS[FIRST[cell]] < least) {
        FIRST[cell]++;
      }
    }
  }

  private final int first;
  private final long[] counts;

  private TimeHistogram(int first, long[] counts) {
    this.first = first;
    this.counts = counts;
  }

  /**
   * Of counts from a bucket on.
   *
   * @param counts taken over
   */
  static TimeHistogram of(int first, long[] counts) {
    return counts.length == 0 ? EMPTY : new TimeHistogram(first, counts);
  }

  /** The bucket of a time; less than a nanosecond counts as one. */
  static int bucket(long nanos) {
    long bits = Double.doubleToRawLongBits(Math.max(1, nanos) * 1e-9);
    int doubling = (int) (bits >>> MANTISSA_BITS) - EXPONENT_BIAS;
    long mantissa = bits & MANTISSA;
    int bound = FIRST[(int) (mantissa >>> (MANTISSA_BITS - CELL_BITS))];
    // At most one bound lies among the mantissas that begin alike.
    int within = mantissa > BOUNDS[bound] ? bound + 1 : bound;
    return doubling * BUCKETS_PER_DOUBLING + within;
  }

  /** The bucket of the first count. */
  public int first() {
    return first;
  }

  /** Buckets from the first on. */
  public int size() {
    return counts.length;
  }

  /** How many times are in a bucket, counted from the first. */
  public long count(int fromFirst) {
    return counts[fromFirst];
  }

  /** Both together. */
  public TimeHistogram plus(TimeHistogram other) {
    if (counts.length == 0 || other.counts.length == 0) {
      return counts.length == 0 ? other : this;
    }
    int low = Math.min(first, other.first);
    int high = Math.max(first + counts.length, other.first + other.counts.length);
    long[] sum = new long[high - low];
    System.arraycopy(counts, 0, sum, first - low, counts.length);
    for (int i = 0; i < other.counts.length; i++) {
      sum[other.first - low + i] += other.counts[i];
    }
    return new TimeHistogram(low, sum);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof TimeHistogram that
        && first == that.first
        && Arrays.equals(counts, that.counts);
  }

  @Override
  public int hashCode() {
    return 31 * first + Arrays.hashCode(counts);
  }

  @Override
  public String toString() {
    return "from bucket " + first + ": " + Arrays.toString(counts);
  }
}

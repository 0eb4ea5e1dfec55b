package dev.roundhouse.platform.metrics;

import io.prometheus.metrics.model.snapshots.ClassicHistogramBuckets;
import io.prometheus.metrics.model.snapshots.NativeHistogramBuckets;
import java.util.Arrays;

/**
 * How often which values came, finely: bucket {@code i} has those up to 2^(i/{@value
 * #PER_DOUBLING}) that bucket {@code i - 1} has not. Prometheus' native histograms have the same at
 * schema {@value #SCHEMA}, and every eighth bound is a power of two, where classic buckets end.
 */
public final class Buckets {
  public static final int PER_DOUBLING = 8;
  static final int SCHEMA = 3;

  private final int first;
  private final long[] counts;
  private final double sum;

  /**
   * @param first bucket of the first count
   * @param counts borrowed: not changed afterwards
   * @param sum of all values
   */
  public Buckets(int first, long[] counts, double sum) {
    this.first = first;
    this.counts = counts;
    this.sum = sum;
  }

  /** The bucket of a whole number, 1 or more. */
  public static int of(long value) {
    int doubling = Long.SIZE - 1 - Long.numberOfLeadingZeros(value);
    double within = value / Math.pow(2, doubling);
    int bucket = 0;
    while (within > Math.pow(2, (double) bucket / PER_DOUBLING)) {
      bucket++;
    }
    return doubling * PER_DOUBLING + bucket;
  }

  double sum() {
    return sum;
  }

  NativeHistogramBuckets nonZero() {
    int[] indexes = new int[counts.length];
    long[] those = new long[counts.length];
    int found = 0;
    for (int i = 0; i < counts.length; i++) {
      if (counts[i] > 0) {
        indexes[found] = first + i;
        those[found++] = counts[i];
      }
    }
    return NativeHistogramBuckets.of(Arrays.copyOf(indexes, found), Arrays.copyOf(those, found));
  }

  /** By doublings, from values up to 2^{@code low} to those up to 2^{@code high}, and the rest. */
  ClassicHistogramBuckets classic(int low, int high) {
    double[] bounds = new double[high - low + 2];
    long[] those = new long[bounds.length];
    for (int i = 0; i < bounds.length; i++) {
      bounds[i] = i == bounds.length - 1 ? Double.POSITIVE_INFINITY : Math.pow(2, low + i);
    }
    for (int i = 0; i < counts.length; i++) {
      int doubling = Math.ceilDiv(first + i, PER_DOUBLING);
      those[Math.clamp(doubling - low, 0, bounds.length - 1)] += counts[i];
    }
    return ClassicHistogramBuckets.of(bounds, those);
  }
}

package dev.roundhouse.simulation.cache;

import java.util.Arrays;
import java.util.SplittableRandom;

/**
 * What the weights of each model take.
 *
 * @param bytes by model
 * @param reloadNanos by model, over the link of {@link #LINK_BYTES_PER_SECOND}
 * @param budgetBytes what fits on the device
 */
public record Footprints(long[] bytes, long[] reloadNanos, long budgetBytes) {
  private static final double LINK_BYTES_PER_SECOND = 25e9;
  private static final double NANOS_PER_LOAD = 100_000;
  private static final double MEAN_BYTES = 100e6;
  private static final double LEAST_BYTES = 1e6;
  private static final double MOST_BYTES = 4e9;
  private static final double SPREAD = 1.5; // of the logarithm

  /** Models of 100 MB each. */
  public static Footprints equal(int models, int fit) {
    double[] bytes = new double[models];
    Arrays.fill(bytes, MEAN_BYTES);
    return of(bytes, fit);
  }

  /**
   * Log-normal between 1 MB and 4 GB, half of the models below 33 MB; together about as much as
   * models of 100 MB.
   */
  public static Footprints unequal(int models, int fit, SplittableRandom random) {
    double[] bytes = new double[models];
    double median = MEAN_BYTES * StrictMath.exp(-SPREAD * SPREAD / 2);
    for (int model = 0; model < models; model++) {
      double drawn = median * StrictMath.exp(SPREAD * random.nextGaussian());
      bytes[model] = Math.clamp(drawn, LEAST_BYTES, MOST_BYTES);
    }
    return of(bytes, fit);
  }

  /** The same models on a device that holds so many of mean size. */
  private static Footprints of(double[] bytes, int fit) {
    long[] whole = new long[bytes.length];
    long[] reload = new long[bytes.length];
    for (int model = 0; model < bytes.length; model++) {
      whole[model] = Math.round(bytes[model]);
      reload[model] = Math.round(NANOS_PER_LOAD + bytes[model] / LINK_BYTES_PER_SECOND * 1e9);
    }
    return new Footprints(whole, reload, Math.round(fit * MEAN_BYTES));
  }
}

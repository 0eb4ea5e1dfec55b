package dev.roundhouse.measure;

/**
 * Ours against a peer, over the pairs of one run.
 *
 * @param ours median
 * @param peer median
 * @param ratio median of the pairs' ratios, which a slow minute of the machine moves less than the
 *     ratio of the medians
 */
public record Comparison(
    double ours, double peer, double ratio, double lowestRatio, double highestRatio) {

  /** Ours without anybody to compare it with; the peer's figure and the ratios are NaN. */
  public static Comparison alone(double ours) {
    return new Comparison(ours, Double.NaN, Double.NaN, Double.NaN, Double.NaN);
  }

  public boolean isAlone() {
    return Double.isNaN(ratio);
  }
}

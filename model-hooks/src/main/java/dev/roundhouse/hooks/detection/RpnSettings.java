package dev.roundhouse.hooks.detection;

/**
 * How region proposals are selected.
 *
 * @param preNmsTopN how many of each level, by score, are looked at
 * @param postNmsTopN how many are left at the most, of all levels
 * @param nmsThreshold proposals of one level that overlap more than this, as intersection over
 *     union, are one
 * @param scoreThreshold proposals of a smaller probability go
 * @param minSize proposals narrower or lower than this go; pixels
 */
public record RpnSettings(
    int preNmsTopN, int postNmsTopN, double nmsThreshold, float scoreThreshold, float minSize) {
  /** What torchvision's detectors select by when they are not trained. */
  public static final RpnSettings TORCHVISION = new RpnSettings(1000, 1000, 0.7, 0, 1e-3f);

  public RpnSettings {
    if (preNmsTopN < 0 || postNmsTopN < 0) {
      throw new IllegalArgumentException(
          "preNmsTopN is "
              + preNmsTopN
              + ", postNmsTopN is "
              + postNmsTopN
              + "; both must be 0 or more");
    }
  }
}

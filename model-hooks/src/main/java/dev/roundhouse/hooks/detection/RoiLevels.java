package dev.roundhouse.hooks.detection;

import java.util.List;

/**
 * Which level of a feature pyramid a box is looked at on: one of 224 pixels on level 4, one of
 * twice that a level further up.
 */
final class RoiLevels {
  private static final int CANONICAL_SIZE = 224;
  private static final int CANONICAL_LEVEL = 4;
  private static final float ROUNDING = 1e-6f;

  private final float[] scales;
  private final int lowest;
  private final int highest;

  RoiLevels(List<FeatureMap> levels, int imageHeight) {
    scales = new float[levels.size()];
    for (int i = 0; i < scales.length; i++) {
      float smaller = (float) ((double) levels.get(i).height() / imageHeight);
      scales[i] = (float) Math.pow(2, Math.rint(log2(smaller)));
    }
    lowest = (int) -log2(scales[0]);
    highest = (int) -log2(scales[scales.length - 1]);
  }

  /**
   * Returns the power of two that is nearest to how many times smaller a level is than the image.
   */
  float scale(int level) {
    return scales[level];
  }

  /** Returns the index of a box's level. */
  int of(float x1, float y1, float x2, float y2) {
    float size = (float) Math.sqrt((x2 - x1) * (y2 - y1));
    double level = Math.floor(CANONICAL_LEVEL + log2(size / CANONICAL_SIZE) + ROUNDING);
    return (int) Math.min(Math.max(Double.isNaN(level) ? lowest : level, lowest), highest) - lowest;
  }

  private static float log2(float value) {
    return (float) (Math.log(value) / Math.log(2));
  }
}

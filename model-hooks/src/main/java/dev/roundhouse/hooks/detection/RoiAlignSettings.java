package dev.roundhouse.hooks.detection;

/**
 * How features are sampled within boxes.
 *
 * @param height bins per box, downwards
 * @param width bins per box, to the right
 * @param spatialScale what a box's pixels are multiplied with to be the feature map's
 * @param samplingRatio points per bin and axis; 0 for as many as the bin has rows and columns
 * @param aligned centres of pixels are at halves; without it boxes have at least one pixel
 */
public record RoiAlignSettings(
    int height, int width, float spatialScale, int samplingRatio, boolean aligned) {

  public RoiAlignSettings {
    if (height < 1 || width < 1) {
      throw new IllegalArgumentException(
          "a box has " + height + " x " + width + " bins; it must have 1 x 1 or more");
    }
  }
}

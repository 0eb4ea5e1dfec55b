package dev.roundhouse.hooks.detection;

/** What a detector's box deltas were multiplied with in training. */
public record BoxWeights(float x, float y, float width, float height) {
  /** Those of Faster R-CNN's region proposals. */
  public static final BoxWeights PROPOSALS = new BoxWeights(1, 1, 1, 1);

  /** Those of Faster R-CNN's box head. */
  public static final BoxWeights BOX_HEAD = new BoxWeights(10, 10, 5, 5);
}

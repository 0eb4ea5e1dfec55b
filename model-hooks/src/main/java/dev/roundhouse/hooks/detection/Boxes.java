package dev.roundhouse.hooks.detection;

import java.nio.FloatBuffer;
import java.util.Arrays;

/** Boxes as they lie in a buffer: left, top, right, bottom, one after the other. */
final class Boxes {

  /** exp() of more is clamped, so that a box is at most 62.5 times as large as its anchor. */
  private static final float MAX_SIZE_DELTA = (float) Math.log(1000.0 / 16);

  private Boxes() {}

  static int count(FloatBuffer boxes) {
    if (boxes.remaining() % 4 != 0) {
      throw new IllegalArgumentException(
          "boxes have 4 values each, the buffer has " + boxes.remaining());
    }
    return boxes.remaining() / 4;
  }

  static float[] copy(FloatBuffer values) {
    float[] copy = new float[values.remaining()];
    values.get(values.position(), copy);
    return copy;
  }

  /** The deltas of one anchor are {@code classes} times four. */
  static void decode(
      float[] deltas, float[] anchors, int classes, BoxWeights weights, FloatBuffer into) {
    for (int i = 0; i < deltas.length; i += 4) {
      int anchor = i / 4 / classes * 4;
      float anchorWidth = anchors[anchor + 2] - anchors[anchor];
      float anchorHeight = anchors[anchor + 3] - anchors[anchor + 1];
      float centreX = anchors[anchor] + 0.5f * anchorWidth;
      float centreY = anchors[anchor + 1] + 0.5f * anchorHeight;
      float x = deltas[i] / weights.x() * anchorWidth + centreX;
      float y = deltas[i + 1] / weights.y() * anchorHeight + centreY;
      float halfWidth = 0.5f * (exp(deltas[i + 2] / weights.width()) * anchorWidth);
      float halfHeight = 0.5f * (exp(deltas[i + 3] / weights.height()) * anchorHeight);
      into.put(x - halfWidth).put(y - halfHeight).put(x + halfWidth).put(y + halfHeight);
    }
  }

  private static float exp(float delta) {
    return (float) Math.exp(Math.min(delta, MAX_SIZE_DELTA));
  }

  static void clip(FloatBuffer boxes, float height, float width) {
    for (int i = boxes.position(); i < boxes.limit(); i += 4) {
      boxes.put(i, clamp(boxes.get(i), width));
      boxes.put(i + 1, clamp(boxes.get(i + 1), height));
      boxes.put(i + 2, clamp(boxes.get(i + 2), width));
      boxes.put(i + 3, clamp(boxes.get(i + 3), height));
    }
  }

  static float clamp(float value, float highest) {
    return Math.min(Math.max(value, 0), highest);
  }

  static int[] largeEnough(float[] boxes, float minSize) {
    int[] kept = new int[boxes.length / 4];
    int count = 0;
    for (int i = 0; i < boxes.length; i += 4) {
      if (boxes[i + 2] - boxes[i] >= minSize && boxes[i + 3] - boxes[i + 1] >= minSize) {
        kept[count++] = i / 4;
      }
    }
    return Arrays.copyOf(kept, count);
  }
}

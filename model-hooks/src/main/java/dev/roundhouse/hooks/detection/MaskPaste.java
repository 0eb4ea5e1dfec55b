package dev.roundhouse.hooks.detection;

import java.nio.FloatBuffer;
import java.util.Arrays;

/** Puts a mask, which has the size of the network's head, where its box is in the image. */
final class MaskPaste {
  /** A ring of zeros, so that the mask's edge is not the box's. */
  private static final int PADDING = 1;

  private MaskPaste() {}

  /**
   * Adds nothing outside the box: {@code image}, {@code height * width} values of zero, has the
   * probabilities inside it afterwards.
   */
  static void paste(
      float[] mask, int size, float[] box, int height, int width, FloatBuffer image, int at) {
    int padded = size + 2 * PADDING;
    float[] values = new float[padded * padded];
    for (int row = 0; row < size; row++) {
      System.arraycopy(mask, row * size, values, (row + PADDING) * padded + PADDING, size);
    }
    float scale = (float) ((double) padded / size);
    float halfWidth = (box[2] - box[0]) * 0.5f * scale;
    float halfHeight = (box[3] - box[1]) * 0.5f * scale;
    float centreX = (box[2] + box[0]) * 0.5f;
    float centreY = (box[3] + box[1]) * 0.5f;
    long left = (long) (centreX - halfWidth);
    long top = (long) (centreY - halfHeight);
    long right = (long) (centreX + halfWidth);
    long bottom = (long) (centreY + halfHeight);
    long boxWidth = Math.max(right - left + 1, 1);
    long boxHeight = Math.max(bottom - top + 1, 1);
    int fromX = (int) Math.max(left, 0);
    int toX = (int) Math.min(right + 1, width);
    int fromY = (int) Math.max(top, 0);
    int toY = (int) Math.min(bottom + 1, height);
    if (fromX >= toX || fromY >= toY) {
      return;
    }
    Resampling across = new Resampling(padded, boxWidth, fromX - left, toX - fromX);
    Resampling down = new Resampling(padded, boxHeight, fromY - top, toY - fromY);
    for (int y = 0; y < toY - fromY; y++) {
      int upper = down.low[y] * padded;
      int lower = down.high[y] * padded;
      int row = at + (fromY + y) * width + fromX;
      for (int x = 0; x < toX - fromX; x++) {
        float upperValue = across.between(values, upper, x);
        float lowerValue = across.between(values, lower, x);
        image.put(row + x, (1 - down.weight[y]) * upperValue + down.weight[y] * lowerValue);
      }
    }
  }

  /** Where the points of a resized axis lie between those of the given one, centres on halves. */
  private static final class Resampling {
    final int[] low;
    final int[] high;
    final float[] weight; // of the higher

    Resampling(int size, long resized, long from, int count) {
      low = new int[count];
      high = new int[count];
      weight = new float[count];
      float scale = (float) size / resized;
      for (int i = 0; i < count; i++) {
        float at = Math.max(scale * (from + i + 0.5f) - 0.5f, 0);
        low[i] = Math.min((int) at, size - 1);
        high[i] = Math.min(low[i] + 1, size - 1);
        weight[i] = Math.min(Math.max(at - low[i], 0), 1);
      }
    }

    float between(float[] values, int row, int point) {
      return (1 - weight[point]) * values[row + low[point]]
          + weight[point] * values[row + high[point]];
    }
  }

  static void clear(FloatBuffer image, int at, int count) {
    float[] zeros = new float[Math.min(count, 4096)];
    Arrays.fill(zeros, 0);
    for (int i = 0; i < count; i += zeros.length) {
      image.put(at + i, zeros, 0, Math.min(zeros.length, count - i));
    }
  }
}

package dev.roundhouse.hooks.detection;

import java.nio.FloatBuffer;

/**
 * Averages features at points within the bins of boxes, each point between its four neighbours.
 * Points further out than one pixel count as zero.
 */
final class RoiAlign {
  /** Boxes that are clipped to an image never ask for more; bounds the time that one box takes. */
  private static final int MAX_POINTS = 1 << 14;

  private final FloatBuffer values;
  private final int firstValue;
  private final int channels;
  private final int height;
  private final int width;
  private final RoiAlignSettings settings;

  RoiAlign(FeatureMap features, RoiAlignSettings settings) {
    this.values = features.values();
    this.firstValue = values.position();
    this.channels = features.channels();
    this.height = features.height();
    this.width = features.width();
    this.settings = settings;
  }

  /** Where the points of one axis lie: two neighbours and their weights; both weights 0 outside. */
  private static final class Axis {
    final int pointsPerBin;
    final int[] low;
    final int[] high;
    final float[] lowWeight;
    final float[] highWeight;

    Axis(float start, float length, int bins, int samplingRatio, int size) {
      float binLength = length / bins;
      pointsPerBin = samplingRatio > 0 ? samplingRatio : (int) Math.ceil(length / bins);
      if ((long) pointsPerBin * bins > MAX_POINTS) {
        throw new IllegalArgumentException(
            "a box of %s pixels of the feature map has %d points per bin, at most %d in all; clip boxes to the image first"
                .formatted(length, pointsPerBin, MAX_POINTS));
      }
      int points = Math.max(pointsPerBin, 0) * bins;
      low = new int[points];
      high = new int[points];
      lowWeight = new float[points];
      highWeight = new float[points];
      for (int i = 0; i < points; i++) {
        int bin = i / pointsPerBin;
        int inBin = i % pointsPerBin;
        place(i, start + bin * binLength + (inBin + 0.5f) * binLength / pointsPerBin, size);
      }
    }

    private void place(int point, float at, int size) {
      if (at < -1 || at > size || Float.isNaN(at)) {
        return;
      }
      float inside = Math.max(at, 0);
      int index = (int) inside;
      if (index >= size - 1) {
        index = size - 1;
        inside = index;
      }
      low[point] = index;
      high[point] = Math.min(index + 1, size - 1);
      highWeight[point] = inside - index;
      lowWeight[point] = 1 - highWeight[point];
    }
  }

  /** Puts the bins of one box, {@code [channels, height, width]} of the settings, at {@code out}. */
  void align(float x1, float y1, float x2, float y2, float[] out) {
    float offset = settings.aligned() ? 0.5f : 0;
    float startX = x1 * settings.spatialScale() - offset;
    float startY = y1 * settings.spatialScale() - offset;
    float boxWidth = x2 * settings.spatialScale() - offset - startX;
    float boxHeight = y2 * settings.spatialScale() - offset - startY;
    if (!settings.aligned()) {
      boxWidth = Math.max(boxWidth, 1);
      boxHeight = Math.max(boxHeight, 1);
    }
    Axis down = new Axis(startY, boxHeight, settings.height(), settings.samplingRatio(), height);
    Axis across = new Axis(startX, boxWidth, settings.width(), settings.samplingRatio(), width);
    float points = Math.max(down.pointsPerBin * across.pointsPerBin, 1);
    int plane = height * width;
    int at = 0;
    for (int channel = 0; channel < channels; channel++) {
      int base = firstValue + channel * plane;
      for (int binY = 0; binY < settings.height(); binY++) {
        for (int binX = 0; binX < settings.width(); binX++) {
          out[at++] = sum(base, down, binY, across, binX) / points;
        }
      }
    }
  }

  private float sum(int base, Axis down, int binY, Axis across, int binX) {
    float sum = 0;
    for (int i = binY * down.pointsPerBin; i < (binY + 1) * down.pointsPerBin; i++) {
      int upper = base + down.low[i] * width;
      int lower = base + down.high[i] * width;
      float upperWeight = down.lowWeight[i];
      float lowerWeight = down.highWeight[i];
      for (int j = binX * across.pointsPerBin; j < (binX + 1) * across.pointsPerBin; j++) {
        int left = across.low[j];
        int right = across.high[j];
        float leftWeight = across.lowWeight[j];
        float rightWeight = across.highWeight[j];
        sum +=
            upperWeight * leftWeight * values.get(upper + left)
                + upperWeight * rightWeight * values.get(upper + right)
                + lowerWeight * leftWeight * values.get(lower + left)
                + lowerWeight * rightWeight * values.get(lower + right);
      }
    }
    return sum;
  }
}

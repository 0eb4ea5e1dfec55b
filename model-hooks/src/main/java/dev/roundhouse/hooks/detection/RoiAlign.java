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

  /** The points of one box. */
  private record Points(Axis down, Axis across) {}

  /**
   * Puts the bins of some of the boxes, each {@code [channels, height, width]} of the settings,
   * where box 0 begins at {@code into}'s position. Channel by channel, so that a plane is copied to
   * the heap once: reading neighbours from a buffer costs several times as much.
   */
  void align(FloatBuffer boxes, int[] members, FloatBuffer into) {
    Points[] points = new Points[members.length];
    for (int i = 0; i < members.length; i++) {
      points[i] = points(boxes, boxes.position() + members[i] * 4);
    }
    int bins = settings.height() * settings.width();
    float[] plane = new float[height * width];
    float[] out = new float[bins];
    for (int channel = 0; channel < channels && members.length > 0; channel++) {
      values.get(firstValue + channel * plane.length, plane);
      for (int i = 0; i < members.length; i++) {
        average(plane, points[i], out);
        into.put(into.position() + (members[i] * channels + channel) * bins, out);
      }
    }
  }

  private Points points(FloatBuffer boxes, int box) {
    float offset = settings.aligned() ? 0.5f : 0;
    float scale = settings.spatialScale();
    float startX = boxes.get(box) * scale - offset;
    float startY = boxes.get(box + 1) * scale - offset;
    float boxWidth = boxes.get(box + 2) * scale - offset - startX;
    float boxHeight = boxes.get(box + 3) * scale - offset - startY;
    if (!settings.aligned()) {
      boxWidth = Math.max(boxWidth, 1);
      boxHeight = Math.max(boxHeight, 1);
    }
    return new Points(
        new Axis(startY, boxHeight, settings.height(), settings.samplingRatio(), height),
        new Axis(startX, boxWidth, settings.width(), settings.samplingRatio(), width));
  }

  private void average(float[] plane, Points points, float[] out) {
    int down = points.down.pointsPerBin;
    int across = points.across.pointsPerBin;
    float count = Math.max(down * across, 1);
    int at = 0;
    for (int binY = 0; binY < settings.height(); binY++) {
      for (int binX = 0; binX < settings.width(); binX++) {
        float sum = 0;
        for (int i = binY * down; i < (binY + 1) * down; i++) {
          sum = addRow(sum, plane, points.down, i, points.across, binX * across, across);
        }
        out[at++] = sum / count;
      }
    }
  }

  private float addRow(
      float before, float[] plane, Axis down, int row, Axis across, int from, int count) {
    float sum = before;
    int upper = down.low[row] * width;
    int lower = down.high[row] * width;
    float upperWeight = down.lowWeight[row];
    float lowerWeight = down.highWeight[row];
    for (int j = from; j < from + count; j++) {
      int left = across.low[j];
      int right = across.high[j];
      float leftWeight = across.lowWeight[j];
      float rightWeight = across.highWeight[j];
      sum +=
          upperWeight * leftWeight * plane[upper + left]
              + upperWeight * rightWeight * plane[upper + right]
              + lowerWeight * leftWeight * plane[lower + left]
              + lowerWeight * rightWeight * plane[lower + right];
    }
    return sum;
  }
}

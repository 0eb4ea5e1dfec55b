package dev.roundhouse.hooks.detection;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;

/** Against slow versions that say what is meant, on whole numbers that make ties. */
class DetectionPropertyTest {

  @Test
  void shouldKeepWhatTheNaiveSuppressionKeeps() {
    long seed = new Random().nextLong();
    Random dice = new Random(seed);
    for (int round = 0; round < 500; round++) {
      int count = dice.nextInt(40);
      float[] boxes = boxes(dice, count);
      float[] scores = scores(dice, count);
      double threshold = dice.nextInt(-1, 11) / 10.0;
      assertThat(DetectionGlue.nms(FloatBuffer.wrap(boxes), FloatBuffer.wrap(scores), threshold))
          .as("seed %d, round %d", seed, round)
          .isEqualTo(naiveNms(boxes, scores, new int[count], threshold));
    }
  }

  @Test
  void shouldSuppressWithinGroupsOnlyInBothWaysOfDoingSo() {
    long seed = new Random().nextLong();
    Random dice = new Random(seed);
    for (int round = 0; round < 40; round++) {
      int count = round % 4 == 0 ? dice.nextInt(1001, 1200) : dice.nextInt(300);
      float[] boxes = boxes(dice, count);
      float[] scores = scores(dice, count);
      int[] groups = IntStream.generate(() -> dice.nextInt(5)).limit(count).toArray();
      assertThat(
              DetectionGlue.nmsByGroup(
                  FloatBuffer.wrap(boxes), FloatBuffer.wrap(scores), groups, 0.5))
          .as("seed %d, round %d", seed, round)
          .isEqualTo(naiveNms(boxes, scores, groups, 0.5));
    }
  }

  @Test
  void shouldAverageWhatTheNaiveAlignmentAverages() {
    long seed = new Random().nextLong();
    Random dice = new Random(seed);
    int compared = 0;
    for (int round = 0; round < 300; round++) {
      int height = dice.nextInt(1, 9);
      int width = dice.nextInt(1, 9);
      float[] values = new float[2 * height * width];
      for (int i = 0; i < values.length; i++) {
        values[i] = dice.nextFloat() - 0.5f;
      }
      float[] box = boxes(dice, 1);
      RoiAlignSettings settings =
          new RoiAlignSettings(
              dice.nextInt(1, 4), dice.nextInt(1, 4), 0.5f, dice.nextInt(4), dice.nextBoolean());
      FloatBuffer found = FloatBuffer.allocate(2 * settings.height() * settings.width());
      DetectionGlue.roiAlign(
          new FeatureMap(FloatBuffer.wrap(values), 2, height, width),
          FloatBuffer.wrap(box),
          settings,
          found);
      int at = 0;
      for (int channel = 0; channel < 2; channel++) {
        for (int y = 0; y < settings.height(); y++) {
          for (int x = 0; x < settings.width(); x++) {
            double wanted = naiveBin(values, channel, height, width, box, settings, y, x);
            double bin = found.get(at++);
            if (!Double.isNaN(wanted)) {
              assertThat(bin)
                  .as("seed %d, round %d", seed, round)
                  .isCloseTo(wanted, Offset.offset(1e-5));
              compared++;
            }
          }
        }
      }
    }
    assertThat(compared).isGreaterThan(500);
  }

  /** Coordinates that are whole, some boxes turned inside out, many overlapping. */
  private static float[] boxes(Random dice, int count) {
    float[] boxes = new float[count * 4];
    for (int i = 0; i < boxes.length; i += 4) {
      boxes[i] = dice.nextInt(-4, 16);
      boxes[i + 1] = dice.nextInt(-4, 16);
      boxes[i + 2] = boxes[i] + dice.nextInt(-1, 12);
      boxes[i + 3] = boxes[i + 1] + dice.nextInt(-1, 12);
    }
    return boxes;
  }

  private static float[] scores(Random dice, int count) {
    float[] scores = new float[count];
    for (int i = 0; i < count; i++) {
      scores[i] = dice.nextInt(20) / 20f;
    }
    return scores;
  }

  private static int[] naiveNms(float[] boxes, float[] scores, int[] groups, double threshold) {
    List<Integer> left =
        new ArrayList<>(
            IntStream.range(0, scores.length)
                .boxed()
                .sorted(Comparator.comparingDouble(i -> -scores[i]))
                .toList());
    List<Integer> kept = new ArrayList<>();
    while (!left.isEmpty()) {
      int best = left.removeFirst();
      kept.add(best);
      left.removeIf(
          other -> groups[other] == groups[best] && overlap(boxes, best, other) > threshold);
    }
    return kept.stream().mapToInt(i -> i).toArray();
  }

  private static float overlap(float[] boxes, int a, int b) {
    float width =
        Math.max(
            0, Math.min(boxes[a * 4 + 2], boxes[b * 4 + 2]) - Math.max(boxes[a * 4], boxes[b * 4]));
    float height =
        Math.max(
            0,
            Math.min(boxes[a * 4 + 3], boxes[b * 4 + 3])
                - Math.max(boxes[a * 4 + 1], boxes[b * 4 + 1]));
    return width * height / (area(boxes, a) + area(boxes, b) - width * height);
  }

  private static float area(float[] boxes, int i) {
    return (boxes[i * 4 + 2] - boxes[i * 4]) * (boxes[i * 4 + 3] - boxes[i * 4 + 1]);
  }

  private static double naiveBin(
      float[] values,
      int channel,
      int height,
      int width,
      float[] box,
      RoiAlignSettings settings,
      int binY,
      int binX) {
    double offset = settings.aligned() ? 0.5 : 0;
    double left = box[0] * settings.spatialScale() - offset;
    double top = box[1] * settings.spatialScale() - offset;
    double boxWidth = (box[2] - box[0]) * settings.spatialScale();
    double boxHeight = (box[3] - box[1]) * settings.spatialScale();
    if (!settings.aligned()) {
      boxWidth = Math.max(boxWidth, 1);
      boxHeight = Math.max(boxHeight, 1);
    }
    double binWidth = boxWidth / settings.width();
    double binHeight = boxHeight / settings.height();
    int ratio = settings.samplingRatio();
    int down = ratio > 0 ? ratio : (int) Math.ceil(binHeight);
    int across = ratio > 0 ? ratio : (int) Math.ceil(binWidth);
    double sum = 0;
    for (int i = 0; i < down; i++) {
      for (int j = 0; j < across; j++) {
        double y = top + (binY + (i + 0.5) / down) * binHeight;
        double x = left + (binX + (j + 0.5) / across) * binWidth;
        if (isAtEdge(y, height) || isAtEdge(x, width)) {
          return Double.NaN;
        }
        if (y >= -1 && y <= height && x >= -1 && x <= width) {
          sum += between(values, channel * height * width, height, width, y, x);
        }
      }
    }
    return sum / Math.max(down * across, 1);
  }

  /** Where rounding decides whether a point still counts. */
  private static boolean isAtEdge(double at, int size) {
    return Math.abs(at + 1) < 1e-4 || Math.abs(at - size) < 1e-4;
  }

  private static double between(
      float[] values, int base, int height, int width, double y, double x) {
    double insideY = Math.min(Math.max(y, 0), height - 1);
    double insideX = Math.min(Math.max(x, 0), width - 1);
    double sum = 0;
    for (int row = 0; row < height; row++) {
      for (int column = 0; column < width; column++) {
        double weight =
            Math.max(0, 1 - Math.abs(insideY - row)) * Math.max(0, 1 - Math.abs(insideX - column));
        sum += weight * values[base + row * width + column];
      }
    }
    return sum;
  }
}

package dev.roundhouse.hooks.detection;

import java.nio.FloatBuffer;
import java.util.stream.IntStream;

/** Which of the boxes that a region proposal network made for one image are looked at further. */
final class ProposalSelection {

  private ProposalSelection() {}

  static ScoredBoxes select(
      float[] proposals,
      float[] objectness,
      int[] anchorsPerLevel,
      float imageHeight,
      float imageWidth,
      RpnSettings settings) {
    int[] level = new int[objectness.length];
    int[] candidates = new int[objectness.length];
    int count = 0;
    int from = 0;
    for (int l = 0; l < anchorsPerLevel.length; l++) {
      int to = from + anchorsPerLevel[l];
      for (int candidate : ScoreOrder.of(objectness, from, to, settings.preNmsTopN())) {
        candidates[count] = candidate;
        level[count++] = l;
      }
      from = to;
    }
    float[] boxes = new float[count * 4];
    float[] scores = new float[count];
    int left = 0;
    for (int i = 0; i < count; i++) {
      int box = candidates[i] * 4;
      float x1 = Boxes.clamp(proposals[box], imageWidth);
      float y1 = Boxes.clamp(proposals[box + 1], imageHeight);
      float x2 = Boxes.clamp(proposals[box + 2], imageWidth);
      float y2 = Boxes.clamp(proposals[box + 3], imageHeight);
      float probability = sigmoid(objectness[candidates[i]]);
      if (x2 - x1 >= settings.minSize()
          && y2 - y1 >= settings.minSize()
          && probability >= settings.scoreThreshold()) {
        boxes[left * 4] = x1;
        boxes[left * 4 + 1] = y1;
        boxes[left * 4 + 2] = x2;
        boxes[left * 4 + 3] = y2;
        scores[left] = probability;
        level[left++] = level[i];
      }
    }
    float[] leftBoxes = java.util.Arrays.copyOf(boxes, left * 4);
    float[] leftScores = java.util.Arrays.copyOf(scores, left);
    int[] leftLevels = java.util.Arrays.copyOf(level, left);
    int[] kept = Nms.keepByGroup(leftBoxes, leftScores, leftLevels, settings.nmsThreshold());
    return take(leftBoxes, leftScores, IntStream.of(kept).limit(settings.postNmsTopN()).toArray());
  }

  private static ScoredBoxes take(float[] boxes, float[] scores, int[] kept) {
    FloatBuffer takenBoxes = FloatBuffer.allocate(kept.length * 4);
    FloatBuffer takenScores = FloatBuffer.allocate(kept.length);
    for (int index : kept) {
      takenBoxes.put(boxes, index * 4, 4);
      takenScores.put(scores[index]);
    }
    return new ScoredBoxes(kept.length, takenBoxes.flip(), takenScores.flip());
  }

  private static float sigmoid(float logit) {
    return (float) (1 / (1 + Math.exp(-logit)));
  }
}

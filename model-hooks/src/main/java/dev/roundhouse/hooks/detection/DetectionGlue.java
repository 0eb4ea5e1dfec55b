package dev.roundhouse.hooks.detection;

import java.nio.BufferOverflowException;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.stream.IntStream;

/**
 * What stands between the programs of a detector, as torchvision does it.
 *
 * <p>Boxes are four floats: left, top, right, bottom; pixels. Buffers that are read are read from
 * position to limit and borrowed, and their position stays; buffers named {@code into} are written
 * at their position, which moves behind what was written. A buffer without enough room is refused
 * with {@link BufferOverflowException} before anything is written, sizes that do not fit each other
 * with {@link IllegalArgumentException}. There may be no boxes at all. All methods may be used by
 * any number of threads.
 */
public final class DetectionGlue {

  private DetectionGlue() {}

  /**
   * Turns deltas into boxes.
   *
   * @param deltas {@code [anchors, classes, 4]}: of centre and of size; sizes as logarithms
   * @param anchors {@code [anchors, 4]}
   * @param into {@code [anchors, classes, 4]}
   */
  public static void decode(
      FloatBuffer deltas, FloatBuffer anchors, int classes, BoxWeights weights, FloatBuffer into) {
    if (deltas.remaining() != (long) Boxes.count(anchors) * 4 * classes) {
      throw new IllegalArgumentException(
          "%d anchors of %d classes have %d deltas, the buffer has %d"
              .formatted(
                  Boxes.count(anchors),
                  classes,
                  (long) anchors.remaining() * classes,
                  deltas.remaining()));
    }
    checkRoom(into, deltas.remaining());
    Boxes.decode(Boxes.copy(deltas), Boxes.copy(anchors), classes, weights, into);
  }

  /** Moves what is outside an image to its border, in place. */
  public static void clip(FloatBuffer boxes, float imageHeight, float imageWidth) {
    Boxes.count(boxes);
    Boxes.clip(boxes, imageHeight, imageWidth);
  }

  /** Returns the indices of the boxes whose sides are both {@code minSize} or more, ascending. */
  public static int[] largeEnough(FloatBuffer boxes, float minSize) {
    Boxes.count(boxes);
    return Boxes.largeEnough(Boxes.copy(boxes), minSize);
  }

  /**
   * Selects what a region proposal network proposes for one image.
   *
   * @param proposals {@code [anchors, 4]}, decoded
   * @param objectness {@code [anchors]}, before the sigmoid
   * @param anchorsPerLevel how many of the anchors belong to each level, in their order
   */
  public static ScoredBoxes selectProposals(
      FloatBuffer proposals,
      FloatBuffer objectness,
      int[] anchorsPerLevel,
      float imageHeight,
      float imageWidth,
      RpnSettings settings) {
    checkScores(Boxes.count(proposals), objectness);
    long anchors = 0;
    for (int count : anchorsPerLevel) {
      anchors += count;
    }
    if (anchors != objectness.remaining()) {
      throw new IllegalArgumentException(
          "the levels have " + anchors + " anchors, there are " + objectness.remaining());
    }
    return ProposalSelection.select(
        Boxes.copy(proposals),
        Boxes.copy(objectness),
        anchorsPerLevel,
        imageHeight,
        imageWidth,
        settings);
  }

  /**
   * Suppresses boxes that overlap one of a higher score by more than {@code threshold}, as
   * intersection over union. Of equal scores the first counts as higher.
   *
   * @return the indices of the others, in descending order of their scores
   */
  public static int[] nms(FloatBuffer boxes, FloatBuffer scores, double threshold) {
    checkScores(Boxes.count(boxes), scores);
    return Nms.keep(Boxes.copy(boxes), Boxes.copy(scores), threshold);
  }

  /**
   * Suppresses within each group, a class or a level, as {@link #nms} does.
   *
   * @param groups a number for each box, 0 or more
   */
  public static int[] nmsByGroup(
      FloatBuffer boxes, FloatBuffer scores, int[] groups, double threshold) {
    checkScores(Boxes.count(boxes), scores);
    if (groups.length != scores.remaining()) {
      throw new IllegalArgumentException(
          scores.remaining() + " boxes have " + groups.length + " groups");
    }
    return Nms.keepByGroup(Boxes.copy(boxes), Boxes.copy(scores), groups, threshold);
  }

  /**
   * Samples one map of features within boxes.
   *
   * @param into {@code [boxes, channels, height, width]} of the settings
   * @throws IllegalArgumentException also when a box is so much larger than any image that sampling
   *     it would take forever: clip boxes first
   */
  public static void roiAlign(
      FeatureMap features, FloatBuffer boxes, RoiAlignSettings settings, FloatBuffer into) {
    int count = Boxes.count(boxes);
    int perBox = features.channels() * settings.height() * settings.width();
    checkRoom(into, (long) count * perBox);
    new RoiAlign(features, settings).align(boxes, IntStream.range(0, count).toArray(), into);
    into.position(into.position() + count * perBox);
  }

  /**
   * Samples each box on the level of a feature pyramid that fits its size: one of 224 pixels on
   * level 4, where level {@code n} is 2<sup>n</sup> times smaller than the image.
   *
   * @param levels of as many channels each, each half as large as the one before it
   * @param imageHeight of the image that the features were made of, padding included
   * @param settings whose scale is not looked at: it follows from the sizes
   * @param into {@code [boxes, channels, height, width]} of the settings
   */
  public static void roiAlignByLevel(
      List<FeatureMap> levels,
      FloatBuffer boxes,
      int imageHeight,
      RoiAlignSettings settings,
      FloatBuffer into) {
    int count = Boxes.count(boxes);
    int channels = levels.getFirst().channels();
    int perBox = channels * settings.height() * settings.width();
    for (FeatureMap level : levels) {
      if (level.channels() != channels) {
        throw new IllegalArgumentException(
            "levels have " + channels + " and " + level.channels() + " channels");
      }
    }
    checkRoom(into, (long) count * perBox);
    RoiLevels rule = new RoiLevels(levels, imageHeight);
    int[] levelOf = new int[count];
    for (int i = 0; i < count; i++) {
      int box = boxes.position() + i * 4;
      levelOf[i] =
          rule.of(boxes.get(box), boxes.get(box + 1), boxes.get(box + 2), boxes.get(box + 3));
    }
    for (int l = 0; l < levels.size(); l++) {
      int level = l;
      RoiAlignSettings scaled =
          new RoiAlignSettings(
              settings.height(),
              settings.width(),
              rule.scale(level),
              settings.samplingRatio(),
              settings.aligned());
      int[] members = IntStream.range(0, count).filter(i -> levelOf[i] == level).toArray();
      new RoiAlign(levels.get(level), scaled).align(boxes, members, into);
    }
    into.position(into.position() + count * perBox);
  }

  /**
   * Puts each mask where its box is in the image, and zeros elsewhere.
   *
   * @param masks {@code [boxes, size, size]}: probabilities
   * @param into {@code [boxes, imageHeight, imageWidth]}
   */
  public static void pasteMasks(
      FloatBuffer masks,
      int size,
      FloatBuffer boxes,
      int imageHeight,
      int imageWidth,
      FloatBuffer into) {
    int count = Boxes.count(boxes);
    if (masks.remaining() != (long) count * size * size) {
      throw new IllegalArgumentException(
          "%d masks of %d x %d have %d values, the buffer has %d"
              .formatted(count, size, size, (long) count * size * size, masks.remaining()));
    }
    int perImage = Math.multiplyExact(imageHeight, imageWidth);
    checkRoom(into, (long) count * perImage);
    float[] mask = new float[size * size];
    float[] box = new float[4];
    for (int i = 0; i < count; i++) {
      masks.get(masks.position() + i * mask.length, mask);
      boxes.get(boxes.position() + i * 4, box);
      MaskPaste.clear(into, into.position(), perImage);
      MaskPaste.paste(mask, size, box, imageHeight, imageWidth, into, into.position());
      into.position(into.position() + perImage);
    }
  }

  private static void checkScores(int boxes, FloatBuffer scores) {
    if (scores.remaining() != boxes) {
      throw new IllegalArgumentException(
          boxes + " boxes have one score each, the buffer has " + scores.remaining());
    }
  }

  private static void checkRoom(FloatBuffer into, long values) {
    if (into.remaining() < values) {
      throw new BufferOverflowException();
    }
  }
}

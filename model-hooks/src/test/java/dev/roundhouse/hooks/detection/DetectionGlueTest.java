package dev.roundhouse.hooks.detection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.nio.BufferOverflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.List;
import org.junit.jupiter.api.Test;

class DetectionGlueTest {
  private static final RoiAlignSettings ONE_BIN = new RoiAlignSettings(1, 1, 1, 1, true);

  @Test
  void shouldReadFromPositionsAndMoveThoseOfOutputsOnly() {
    FloatBuffer boxes = floats(9, 9, 9, 9, 0, 0, 2, 2).position(4);
    FloatBuffer scores = floats(9, 1).position(1);
    FloatBuffer features = floats(9, 1, 2, 3, 4).position(1);
    FloatBuffer into = FloatBuffer.allocate(3).position(1);
    DetectionGlue.roiAlign(new FeatureMap(features, 1, 2, 2), boxes, ONE_BIN, into);
    assertThat(into.array()).containsExactly(0, 2.5f, 0);
    assertThat(into.position()).isEqualTo(2);
    assertThat(DetectionGlue.nms(boxes, scores, 0.5)).containsExactly(0);
    assertThat(List.of(boxes.position(), scores.position(), features.position()))
        .containsExactly(4, 1, 1);
  }

  @Test
  void shouldTakeBuffersOutsideTheHeap() {
    FloatBuffer boxes =
        ByteBuffer.allocateDirect(32).order(ByteOrder.nativeOrder()).asFloatBuffer();
    boxes.put(new float[] {0, 0, 4, 4, 0, 0, 4, 3}).flip();
    assertThat(DetectionGlue.nms(boxes.asReadOnlyBuffer(), floats(0.1f, 0.9f), 0.5))
        .containsExactly(1);
  }

  @Test
  void shouldMakeNothingOfNoBoxes() {
    FloatBuffer none = FloatBuffer.allocate(0);
    DetectionGlue.decode(none, none, 3, BoxWeights.BOX_HEAD, none);
    DetectionGlue.clip(none, 4, 4);
    assertThat(DetectionGlue.nmsByGroup(none, none, new int[0], 0.5)).isEmpty();
    assertThat(
            DetectionGlue.selectProposals(none, none, new int[] {0}, 4, 4, RpnSettings.TORCHVISION)
                .count())
        .isZero();
    DetectionGlue.roiAlign(new FeatureMap(floats(1), 1, 1, 1), none, ONE_BIN, none);
    DetectionGlue.pasteMasks(none, 28, none, 4, 4, none);
  }

  @Test
  void shouldPasteNothingOfAMaskBesideTheImage() {
    FloatBuffer into = floats(7, 7, 7, 7);
    DetectionGlue.pasteMasks(floats(1), 1, floats(50, 50, 90, 90), 2, 2, into);
    assertThat(into.array()).containsOnly(0);
  }

  @Test
  void shouldRefuseSizesThatDoNotFit() {
    FloatBuffer box = floats(0, 0, 1, 1);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> DetectionGlue.nms(floats(1, 2, 3), floats(1), 0.5))
        .withMessage("boxes have 4 values each, the buffer has 3");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> DetectionGlue.nms(box, floats(1, 2), 0.5))
        .withMessage("1 boxes have one score each, the buffer has 2");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> DetectionGlue.nmsByGroup(box, floats(1), new int[2], 0.5))
        .withMessage("1 boxes have 2 groups");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> DetectionGlue.decode(box, box, 2, BoxWeights.PROPOSALS, box))
        .withMessage("1 anchors of 2 classes have 8 deltas, the buffer has 4");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new FeatureMap(floats(1, 2), 1, 2, 2))
        .withMessage("features [1, 2, 2] are 4 values, the buffer has 2");
    assertThatIllegalArgumentException()
        .isThrownBy(
            () ->
                DetectionGlue.selectProposals(
                    box, floats(1), new int[] {2}, 4, 4, RpnSettings.TORCHVISION))
        .withMessage("the levels have 2 anchors, there are 1");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> DetectionGlue.pasteMasks(floats(1, 2), 1, box, 2, 2, box))
        .withMessage("1 masks of 1 x 1 have 1 values, the buffer has 2");
  }

  @Test
  void shouldWriteNothingWhenThereIsTooLittleRoom() {
    FloatBuffer small = FloatBuffer.allocate(3);
    FloatBuffer box = floats(0, 0, 1, 1);
    assertThatExceptionOfType(BufferOverflowException.class)
        .isThrownBy(() -> DetectionGlue.decode(box, box, 1, BoxWeights.PROPOSALS, small));
    assertThat(small.position()).isZero();
  }

  @Test
  void shouldRefuseToSampleForever() {
    RoiAlignSettings adaptive = new RoiAlignSettings(7, 7, 1, 0, false);
    FloatBuffer into = FloatBuffer.allocate(49);
    FeatureMap features = new FeatureMap(floats(1), 1, 1, 1);
    for (float far : new float[] {1e9f, Float.POSITIVE_INFINITY}) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> DetectionGlue.roiAlign(features, floats(0, 0, far, 1), adaptive, into))
          .withMessageContaining("clip boxes to the image first");
    }
    DetectionGlue.roiAlign(features, floats(Float.NaN, 0, Float.NaN, 1), adaptive, into);
    assertThat(into.array()).containsOnly(0);
  }

  private static FloatBuffer floats(float... values) {
    return FloatBuffer.wrap(values);
  }
}

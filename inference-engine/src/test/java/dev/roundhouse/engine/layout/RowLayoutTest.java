package dev.roundhouse.engine.layout;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.bundle.tensor.TensorType;
import java.util.List;
import org.junit.jupiter.api.Test;

class RowLayoutTest {

  @Test
  void shouldLayRowsOutOneAfterTheOtherWhenTheBatchAxisLeads() {
    RowLayout layout = layout(DType.F16, Shape.of(4, 3, 5), Axis.BATCH, fixed(3), fixed(5));
    assertThat(layout.batched()).isTrue();
    assertThat(layout.outer()).isEqualTo(1);
    assertThat(layout.rowBytes()).isEqualTo(30);
    assertThat(layout.byteSize()).isEqualTo(120);
    assertThat(layout.offset(0, 3)).isEqualTo(90);
    assertThat(layout.lengthOf(2)).isEqualTo(60);
    assertThat(layout.bytesOf(2)).isEqualTo(60);
    assertThat(layout.shapeOf(2)).isEqualTo(Shape.of(2, 3, 5));
  }

  @Test
  void shouldRepeatTheRowsWhenAnotherAxisLeads() {
    RowLayout layout =
        layout(DType.F32, Shape.of(2, 3, 4, 5), fixed(2), fixed(3), Axis.BATCH, fixed(5));
    assertThat(layout.outer()).isEqualTo(6);
    assertThat(layout.rowBytes()).isEqualTo(20);
    assertThat(layout.offset(1, 0)).as("after the rows of the first repetition").isEqualTo(80);
    assertThat(layout.offset(5, 3)).isEqualTo(460);
    assertThat(layout.lengthOf(3)).as("in one repetition").isEqualTo(60);
    assertThat(layout.bytesOf(3)).as("in all").isEqualTo(360);
    assertThat(layout.shapeOf(3)).isEqualTo(Shape.of(2, 3, 3, 5));
  }

  @Test
  void shouldTakeATensorWithoutABatchAxisForOneRow() {
    RowLayout layout = layout(DType.F64, Shape.of(3, 7), fixed(3), fixed(7));
    assertThat(layout.batched()).isFalse();
    assertThat(layout.outer()).isEqualTo(1);
    assertThat(layout.rowBytes()).isEqualTo(168);
    assertThat(layout.lengthOf(9)).isEqualTo(168);
    assertThat(layout.bytesOf(9)).isEqualTo(168);
    assertThat(layout.shapeOf(9)).isEqualTo(Shape.of(3, 7));
  }

  @Test
  void shouldKnowTheShapeOfMoreRowsThanTheProgramTakes() {
    RowLayout layout = layout(DType.F32, Shape.of(4, 3), Axis.BATCH, fixed(3));
    for (int rows : new int[] {4, 5, 100, 4, 0}) {
      assertThat(layout.shapeOf(rows)).isEqualTo(Shape.of(rows, 3));
    }
    assertThat(layout.shapeOf(4)).as("made once").isSameAs(layout.shapeOf(4));
    assertThat(layout.shapeOf(5)).as("not kept").isNotSameAs(layout.shapeOf(5));
  }

  private static Axis fixed(long extent) {
    return new Axis.Fixed(extent);
  }

  private static RowLayout layout(DType dtype, Shape shape, Axis... axes) {
    return RowLayout.of(new TensorSpec("x", dtype, List.of(axes)), new TensorType(dtype, shape));
  }
}

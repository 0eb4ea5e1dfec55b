package dev.roundhouse.worker.tee;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.model.ModelStatus;
import java.util.List;
import org.junit.jupiter.api.Test;

class TeeSpecTest {
  private static final Axis THREE = new Axis.Fixed(3);

  private static TensorSpec tensor(String name, DType dtype, Axis... axes) {
    return new TensorSpec(name, dtype, List.of(axes));
  }

  private static TeeSpec of(TensorSpec input, TensorSpec output) throws NotTeedException {
    ModelSpec model = RingTest.model(List.of(input), List.of(output));
    return TeeSpec.of(ModelStatus.loading("m", "7").ready(model, 1, 0), 2, 5);
  }

  private static void assertRefused(TensorSpec input, TensorSpec output, String why) {
    NotTeedException refusal =
        catchThrowableOfType(NotTeedException.class, () -> of(input, output));
    assertThat(refusal).hasMessageContaining("model 'm'").hasMessageContaining(why);
    assertThat(refusal.isForGood()).isTrue();
  }

  @Test
  void shouldLayRowsAndWholeRequestsSideBySide() throws Exception {
    TeeSpec rows =
        of(tensor("x", DType.F32, Axis.BATCH, THREE), tensor("y", DType.I64, Axis.BATCH));
    assertThat(rows.batch().inputs().getFirst().shape()).isEqualTo(Shape.of(5, 3));
    assertThat(rows.batch().outputs().getFirst().shape()).isEqualTo(Shape.of(5));
    assertThat(rows.batchBytes()).isEqualTo(5 * 12 + 5 * 8);
    assertThat(rows.rowsOf(rows.batch().inputs().getFirst(), Shape.of(2, 3))).isEqualTo(2);
    assertThat(rows.rowsOf(rows.batch().inputs().getFirst(), Shape.of(2, 4))).isZero();
    assertThat(rows.rowsOf(rows.batch().inputs().getFirst(), Shape.of(6))).isZero();

    TeeSpec whole = of(tensor("x", DType.F32, THREE), tensor("y", DType.BF16));
    assertThat(whole.batch().inputs().getFirst().shape()).isEqualTo(Shape.of(5, 3));
    assertThat(whole.batch().outputs().getFirst().shape()).isEqualTo(Shape.of(5));
    assertThat(whole.rowsOf(whole.batch().inputs().getFirst(), Shape.of(3))).isEqualTo(1);
    assertThat(whole.rowsOf(whole.batch().outputs().getFirst(), Shape.of())).isEqualTo(1);
    assertThat(whole.rowsOf(whole.batch().inputs().getFirst(), Shape.of(1, 3))).isZero();
  }

  @Test
  void shouldRefuseByNameWhatHasNoFixedRows() {
    TensorSpec x = tensor("x", DType.F32, Axis.BATCH, THREE);
    assertRefused(x, tensor("y", DType.BYTES, Axis.BATCH), "has strings in 'y'");
    assertRefused(x, tensor("y", DType.F32, THREE, Axis.BATCH), "along the first axis of 'y'");
    assertRefused(x, tensor("y", DType.F32, THREE), "along the first axis of 'y'");
    assertRefused(
        tensor("x", DType.F32, THREE), tensor("y", DType.F32, Axis.BATCH), "rows in 'y' alone");
    assertRefused(
        tensor("x", DType.F32, Axis.BATCH, new Axis.Fixed(1L << 30)),
        tensor("y", DType.F32, Axis.BATCH),
        "tee.batch-size");
    Axis most = new Axis.Fixed(1L << 26); // 1.25 GiB of five rows
    assertRefused(
        tensor("x", DType.F32, Axis.BATCH, most),
        tensor("y", DType.F32, Axis.BATCH, most),
        "more than 2147418111 bytes together");
  }
}

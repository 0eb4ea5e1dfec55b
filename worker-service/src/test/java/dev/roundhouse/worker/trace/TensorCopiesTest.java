package dev.roundhouse.worker.trace;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.TensorData;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.junit.jupiter.api.Test;

class TensorCopiesTest {
  private static final byte[] SIX = {1, 2, 3, 4, 5, 6};

  private long held;
  private long limit = Long.MAX_VALUE;

  private TensorCopies copies(int most) {
    return new TensorCopies(most, this::take, bytes -> held -= bytes);
  }

  private boolean take(long bytes) {
    if (held + bytes > limit) {
      return false;
    }
    held += bytes;
    return true;
  }

  @Test
  void shouldCopyWhatIsBorrowedAndCountIt() {
    byte[] lent = SIX.clone();
    TensorCopies copies = copies(64);
    TracedTensors tensors =
        new TracedTensors(
            copies.ofInputs(List.of(input("x", DType.U8, lent))),
            copies.ofOutputs(
                List.of(
                    new OutputTensor("y", DType.U8, Shape.of(6), MemorySegment.ofArray(lent)))));
    lent[0] = 9;
    for (List<TracedTensor> each : List.of(tensors.inputs(), tensors.outputs())) {
      assertThat(each.getFirst().bytes()).isEqualTo(SIX);
      assertThat(each.getFirst().byteSize()).isEqualTo(6);
    }
    assertThat(held).isEqualTo(12).isEqualTo(tensors.byteSize());
    copies.giveBack(tensors);
    assertThat(held).isZero();
  }

  @Test
  void shouldCopyNoMoreThanATraceHoldsAndWholeElements() {
    List<TracedTensor> inputs =
        copies(9)
            .ofInputs(
                List.of(
                    input("a", DType.U8, SIX),
                    input("b", DType.I16, SIX),
                    input("c", DType.I16, SIX)));
    assertThat(inputs).extracting(TracedTensor::name).containsExactly("a", "b", "c");
    assertThat(inputs).extracting(each -> each.bytes().length).containsExactly(6, 2, 0);
    assertThat(inputs).extracting(TracedTensor::byteSize).containsOnly(6L);
    assertThat(held).isEqualTo(8);
  }

  @Test
  void shouldLeaveOutWhatThereIsNoMemoryFor() {
    limit = 10;
    List<TracedTensor> inputs =
        copies(64).ofInputs(List.of(input("a", DType.U8, SIX), input("b", DType.U8, SIX)));
    assertThat(inputs).extracting(each -> each.bytes().length).containsExactly(6, 0);
    assertThat(held).isEqualTo(6);
  }

  @Test
  void shouldLeaveOutWhatCannotBeRead() {
    InputTensor input = failing(new IllegalStateException("unmapped"));
    assertThat(copies(64).ofInputs(List.of(input)).getFirst().bytes()).isEmpty();
    assertThat(held).isZero();
  }

  @Test
  void shouldHoldNothingWhenACopyEndsInAnError() {
    InternalError error = new InternalError("a fault occurred in an unsafe memory access");
    TensorCopies copies = copies(64);
    assertThatThrownBy(() -> copies.ofInputs(List.of(failing(error)))).isSameAs(error);
    assertThat(held).isZero();
  }

  private static InputTensor failing(Throwable why) {
    TensorData data =
        new TensorData() {
          @Override
          public long byteSize() {
            return 6;
          }

          @Override
          public void copyTo(long offset, MemorySegment target, long targetOffset, long length) {
            switch (why) {
              case Error error -> throw error;
              case RuntimeException exception -> throw exception;
              default -> throw new AssertionError(why);
            }
          }
        };
    return new InputTensor("x", DType.U8, Shape.of(6), data);
  }

  private static InputTensor input(String name, DType dtype, byte[] data) {
    return new InputTensor(name, dtype, Shape.of(data.length), TensorData.of(data));
  }
}

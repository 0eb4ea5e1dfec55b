package dev.roundhouse.engine.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.tensor.BytesLayout;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.queue.RefusedException;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.testing.TestImage;
import dev.roundhouse.engine.testing.TextModel;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What the code of a model answers, held against the contract; of two rows. */
class AnswerCheckTest {
  private static final ModelContract TEXT = new TextModel("text").contract();
  private static final ModelContract ROWS =
      ModelContract.of(TestImage.scaled("rows", 1, 64).spec(), List.of(2));
  private static final OutputTensor UPPER = strings("upper", Shape.of(2, 1), "A", "B");
  private static final OutputTensor LENGTH =
      new OutputTensor("length", DType.I32, Shape.of(2, 1), bytes(8));
  private static final OutputTensor SAID = strings("said", Shape.of(2, 0));

  @Test
  void shouldGiveWhatWasRequestedInTheContractsOrder() throws RefusedException {
    List<OutputTensor> given = List.of(SAID, LENGTH, UPPER);
    assertThat(AnswerCheck.check(TEXT, 2, null, given)).containsExactly(UPPER, LENGTH, SAID);
    assertThat(AnswerCheck.check(TEXT, 2, new int[] {0, 2}, given)).containsExactly(UPPER, SAID);
    assertThat(AnswerCheck.check(TEXT, 2, new int[] {1}, List.of(LENGTH))).containsExactly(LENGTH);
  }

  @Test
  void shouldNameWhatBreaksTheContract() {
    wrong(
        List.of(new OutputTensor("upper", DType.U8, Shape.of(2, 1), bytes(2)), LENGTH, SAID),
        "model 'text' answered output 'upper' as 'UINT8', but its contract says 'BYTES'");
    wrong(
        List.of(UPPER, SAID),
        "model 'text' answered [upper, said], without output 'length' that was requested");
    wrong(List.of(UPPER, UPPER, LENGTH, SAID), "answered output 'upper' twice");
    wrong(
        List.of(UPPER, LENGTH, SAID, strings("more", Shape.of(0))),
        "answered output 'more', which its contract does not have; that has [upper, length, said]");
    wrong(
        List.of(strings("upper", Shape.of(3, 1), "A", "B", "C"), LENGTH, SAID),
        "answered output 'upper' in shape [3,1], but its contract says [-1,-1] and the request has 2 rows");
    wrong(
        List.of(UPPER, LENGTH, strings("said", Shape.of(2))),
        "answered output 'said' in shape [2], but its contract says [-1,-1]");
    wrong(
        List.of(strings("upper", Shape.of(2, 1), "A"), LENGTH, SAID),
        "expected 2 string elements for output 'upper', got 1");
    wrong(
        List.of(UPPER, new OutputTensor("length", DType.I32, Shape.of(2, 1), bytes(7)), SAID),
        "answered output 'length' INT32[2,1] with 7 bytes; that has 8");
    wrong(
        List.of(
            UPPER, LENGTH, new OutputTensor("said", DType.BYTES, Shape.of(2, 1L << 30), bytes(0))),
        "expected 2147483648 string elements for output 'said', got 0");
    assertThatThrownBy(
            () ->
                AnswerCheck.check(
                    ROWS,
                    2,
                    null,
                    List.of(new OutputTensor("y", DType.F32, Shape.of(2, 3), bytes(24)))))
        .hasMessage(
            "model 'rows' answered output 'y' in shape [2,3], but its contract says [-1,2] and the request has 2 rows");
  }

  @Test
  void shouldRefuseMemoryThatNoTransportCanSend() {
    Arena closed = Arena.ofShared();
    MemorySegment gone = closed.allocate(8);
    closed.close();
    try (Arena own = Arena.ofConfined()) {
      for (MemorySegment memory :
          List.of(gone, own.allocate(8), MemorySegment.ofArray(new int[2]))) {
        wrong(
            List.of(UPPER, new OutputTensor("length", DType.I32, Shape.of(2, 1), memory), SAID),
            "answered output 'length' in memory that cannot be sent");
      }
    }
  }

  @Test
  void shouldKnowWhichSizesTheContractDoesNotSay() {
    assertThat(TEXT.isOpen(0)).isTrue();
    assertThat(TEXT.isOpen(1)).isTrue();
    assertThat(ROWS.isOpen(0)).isFalse();
  }

  private static void wrong(List<OutputTensor> given, String text) {
    assertThatThrownBy(() -> AnswerCheck.check(TEXT, 2, null, given))
        .isInstanceOfSatisfying(
            RefusedException.class,
            refusal -> {
              assertThat(refusal.status()).isEqualTo(Status.INTERNAL);
              assertThat(refusal.getMessage()).contains(text);
            });
  }

  private static OutputTensor strings(String name, Shape shape, String... texts) {
    return new OutputTensor(name, DType.BYTES, shape, BytesLayout.ofStrings(List.of(texts)));
  }

  private static MemorySegment bytes(int count) {
    return MemorySegment.ofArray(new byte[count]);
  }
}

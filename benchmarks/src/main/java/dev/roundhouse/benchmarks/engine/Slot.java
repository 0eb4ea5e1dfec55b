package dev.roundhouse.benchmarks.engine;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.TensorData;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One place for an outstanding request, with an input of its own. The caller's, but for the
 * outcome.
 */
final class Slot implements AnswerSink {
  private final int index;
  private final MemorySegment input;
  private final TensorData data;
  private final CompletionRing ring;
  private int expected;
  private long sentNanos;
  // Published by the ring.
  private @Nullable Outcome outcome;
  private @Nullable Answer part;

  Slot(int index, Arena arena, CompletionRing ring) {
    this.index = index;
    this.input = arena.allocate(NoOpModel.INPUT_BYTES, 64).fill((byte) 1);
    this.data = TensorData.of(input);
    this.ring = ring;
  }

  /** A request as a transport makes it, with {@code value} as the first of its input. */
  InferenceRequest request(String model, int value) {
    expected = value;
    outcome = null;
    input.set(ValueLayout.JAVA_INT, 0, value);
    sentNanos = System.nanoTime();
    InputTensor tensor = new InputTensor(NoOpModel.INPUT, DType.F32, NoOpModel.ONE_ROW, data);
    return InferenceRequest.of(model, List.of(tensor), this).build();
  }

  long sentNanos() {
    return sentNanos;
  }

  /** Fails unless the answer is what was sent. */
  void check() {
    Answer answered = part;
    if (answered == null || !(outcome instanceof Outcome.Completed)) {
      throw new IllegalStateException("a request ended otherwise than by an answer: " + outcome);
    }
    OutputTensor answer = answered.outputs().getFirst();
    int got = answer.data().get(ValueLayout.JAVA_INT_UNALIGNED, 0);
    if (got != expected || answer.data().byteSize() != Integer.BYTES) {
      throw new IllegalStateException(
          "the answer to %d is %d, of %d bytes".formatted(expected, got, answer.data().byteSize()));
    }
    part = null;
    answered.close();
  }

  @Override
  public void onPart(Answer answer) {
    part = answer;
  }

  @Override
  public void onEnd(Outcome how) {
    outcome = how;
    ring.put(index);
  }
}

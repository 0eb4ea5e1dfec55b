package dev.roundhouse.benchmarks.engine;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.engine.request.Completion;
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
final class Slot implements Completion {
  private final int index;
  private final MemorySegment input;
  private final TensorData data;
  private final CompletionRing ring;
  private int expected;
  private long sentNanos;
  private @Nullable Outcome outcome; // published by the ring

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
    return new InferenceRequest(
        model, "", "", List.of(tensor), List.of(), InferenceRequest.NO_DEADLINE, this);
  }

  long sentNanos() {
    return sentNanos;
  }

  /** Fails unless the answer is what was sent. */
  void check() {
    if (!(outcome instanceof Outcome.Completed completed)) {
      throw new IllegalStateException("a request ended otherwise than by an answer: " + outcome);
    }
    OutputTensor answer = completed.outputs().getFirst();
    int got = answer.data().get(ValueLayout.JAVA_INT_UNALIGNED, 0);
    if (got != expected || answer.data().byteSize() != Integer.BYTES) {
      throw new IllegalStateException(
          "the answer to %d is %d, of %d bytes".formatted(expected, got, answer.data().byteSize()));
    }
  }

  @Override
  public void onOutcome(InferenceRequest request, Outcome how) {
    outcome = how;
    ring.put(index);
  }
}

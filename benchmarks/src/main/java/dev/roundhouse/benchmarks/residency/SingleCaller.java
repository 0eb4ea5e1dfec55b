package dev.roundhouse.benchmarks.residency;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.TensorData;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Calls a {@link SummingModel} and waits for each answer. */
record SingleCaller(Engine engine) {
  private static final InputTensor ZEROS =
      new InputTensor(
          SummingModel.INPUT,
          DType.F32,
          SummingModel.ROW,
          TensorData.of(new byte[SummingModel.NUMBERS * Float.BYTES]));

  /**
   * Calls with zeros.
   *
   * @return from the call to the answer, in nanoseconds
   * @throws IllegalStateException when the answer is not {@code expected}
   */
  long call(String model, float[] expected) {
    Sink sink = new Sink();
    InferenceRequest request = InferenceRequest.of(model, List.of(ZEROS), sink).build();
    long start = System.nanoTime();
    engine.submit(request);
    Outcome outcome = sink.ended.join();
    long nanos = System.nanoTime() - start;
    if (!(outcome instanceof Outcome.Completed) || !Arrays.equals(sink.answer, expected)) {
      throw new IllegalStateException(
          "'%s' answered %s, expected %s: %s"
              .formatted(model, Arrays.toString(sink.answer), Arrays.toString(expected), outcome));
    }
    return nanos;
  }

  private static final class Sink implements AnswerSink {
    final CompletableFuture<Outcome> ended = new CompletableFuture<>();
    float[] answer = {};

    @Override
    public void onPart(Answer part) {
      MemorySegment numbers = part.outputs().getFirst().data();
      answer = numbers.toArray(ValueLayout.JAVA_FLOAT_UNALIGNED);
      part.close();
    }

    @Override
    public void onEnd(Outcome outcome) {
      ended.complete(outcome);
    }
  }
}

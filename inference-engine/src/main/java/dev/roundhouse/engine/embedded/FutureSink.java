package dev.roundhouse.engine.embedded;

import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.Status;
import java.lang.foreign.MemorySegment;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/** Completes a future with a request's outcome; results are copied. */
final class FutureSink implements AnswerSink {
  private final CompletableFuture<Inference> future;
  private final Executor handOver;
  private @Nullable Answer answer;

  /**
   * @param handOver where the future is completed; never on the dispatch thread unless the future
   *     cannot have dependents yet
   */
  FutureSink(CompletableFuture<Inference> future, Executor handOver) {
    this.future = future;
    this.handOver = handOver;
  }

  @Override
  public void onPart(Answer part) {
    answer = part;
  }

  @Override
  public void onEnd(Outcome outcome) {
    handOver.execute(() -> complete(outcome));
  }

  private void complete(Outcome outcome) {
    switch (outcome) {
      case Outcome.Completed done -> future.complete(inference(done));
      case Outcome.Refused refused -> fail(refused.status(), refused.message());
      case Outcome.Failed failed -> fail(failed.status(), failed.message());
      case Outcome.Shed shed -> fail(shed.status(), shed.message());
      case Outcome.Cancelled cancelled -> fail(Status.CANCELLED, cancelled.message());
    }
  }

  private void fail(Status status, String message) {
    future.completeExceptionally(new InferenceException(status, message));
  }

  private Inference inference(Outcome.Completed done) {
    Map<String, Tensor> outputs = new LinkedHashMap<>();
    try (Answer part = answer) {
      if (part != null) {
        for (OutputTensor output : part.outputs()) {
          outputs.put(output.name(), copy(output));
        }
      }
    }
    return new Inference(done.modelVersion(), Collections.unmodifiableMap(outputs), done.timings());
  }

  private static Tensor copy(OutputTensor output) {
    MemorySegment copy = MemorySegment.ofArray(new byte[Math.toIntExact(output.data().byteSize())]);
    copy.copyFrom(output.data());
    return new Tensor(output.dtype(), output.shape(), copy);
  }
}

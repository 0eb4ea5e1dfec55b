package dev.roundhouse.benchmarks.residency;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.TensorData;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Calls a model again with each answer, until it is stopped. Any thread. */
final class Resubmitting implements AnswerSink {
  private final Engine engine;
  private final String model;
  private final InputTensor zeros;
  private final AtomicReference<@Nullable Outcome> unwanted = new AtomicReference<>();
  private volatile boolean stopped;

  Resubmitting(Engine engine, String model, String input, Shape row) {
    this.engine = engine;
    this.model = model;
    int bytes = Math.toIntExact(row.elementCount() * Float.BYTES);
    zeros = new InputTensor(input, DType.F32, row, TensorData.of(new byte[bytes]));
  }

  /** Sends a call, and another whenever one is answered. */
  void submit() {
    engine.submit(InferenceRequest.of(model, List.of(zeros), this).build());
  }

  /** Ends after the calls that are open. */
  void stop() {
    stopped = true;
  }

  /** Fails when a call ended otherwise than by an answer. */
  void check() {
    Outcome outcome = unwanted.get();
    if (outcome != null) {
      throw new IllegalStateException("a call of '" + model + "' ended by " + outcome);
    }
  }

  @Override
  public void onPart(Answer part) {
    part.close();
  }

  @Override
  public void onEnd(Outcome outcome) {
    if (!(outcome instanceof Outcome.Completed)) {
      unwanted.compareAndSet(null, outcome);
    } else if (!stopped) {
      submit();
    }
  }
}

package dev.roundhouse.benchmarks.engine;

import static dev.roundhouse.bundle.request.RequestOptions.DEFAULT;

import dev.roundhouse.bundle.request.SequenceStep;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.TensorData;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Calls the two {@link StateModels}, one call at a time, and checks each answer. */
final class StateCaller {
  static final String STATEFUL = "stateful";
  static final String STATELESS = "stateless";

  private static final SequenceStep.Id SEQUENCE = SequenceStep.Id.of(1);
  private static final InputTensor ONE =
      new InputTensor(
          StateModels.INPUT,
          DType.F32,
          Shape.of(1, 1),
          TensorData.of(
              ByteBuffer.allocate(Float.BYTES).order(ByteOrder.LITTLE_ENDIAN).putFloat(1).array()));

  private final Engine engine;
  private int steps;
  private float ofCalls = Float.NaN;

  StateCaller(Engine engine) {
    this.engine = engine;
  }

  /** Nanoseconds of the next step; the state counts them. */
  long step() {
    Sink sink = new Sink();
    boolean first = steps++ == 0;
    InferenceRequest request =
        InferenceRequest.of(STATEFUL, List.of(ONE), sink)
            .options(DEFAULT.withSequence(new SequenceStep(SEQUENCE, first, false)))
            .build();
    long nanos = nanos(request, sink);
    if (sink.answer != steps) {
      throw new IllegalStateException("step %d answered %f".formatted(steps, sink.answer));
    }
    return nanos;
  }

  /** Nanoseconds of a call that keeps nothing: each has the same answer. */
  long call() {
    Sink sink = new Sink();
    long nanos = nanos(InferenceRequest.of(STATELESS, List.of(ONE), sink).build(), sink);
    if (!Float.isNaN(ofCalls) && sink.answer != ofCalls) {
      throw new IllegalStateException(
          "a call answered %f, and %f before".formatted(sink.answer, ofCalls));
    }
    ofCalls = sink.answer;
    return nanos;
  }

  private long nanos(InferenceRequest request, Sink sink) {
    long start = System.nanoTime();
    engine.submit(request);
    Outcome outcome = sink.ended.join();
    long nanos = System.nanoTime() - start;
    if (!(outcome instanceof Outcome.Completed)) {
      throw new IllegalStateException("a call ended otherwise than by an answer: " + outcome);
    }
    return nanos;
  }

  private static final class Sink implements AnswerSink {
    final CompletableFuture<Outcome> ended = new CompletableFuture<>();
    float answer; // published by ended

    @Override
    public void onPart(Answer part) {
      answer = part.outputs().getFirst().data().get(ValueLayout.JAVA_FLOAT_UNALIGNED, 0);
      part.close();
    }

    @Override
    public void onEnd(Outcome outcome) {
      ended.complete(outcome);
    }
  }
}

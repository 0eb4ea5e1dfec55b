package dev.roundhouse.worker.transport.grpc;

import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.kserve.codec.EncodedMessage;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.platform.logging.AboutRequest;
import dev.roundhouse.worker.transport.InferExchange;
import dev.roundhouse.worker.transport.Inference;
import dev.roundhouse.worker.transport.Outcomes;
import java.util.ArrayDeque;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** One request of a stream, and its place among the answers. */
final class StreamTurn implements AnswerSink {
  /**
   * Besides the inputs and the answer that the engine counts: the turn, the exchange, the request's
   * objects in each layer.
   */
  static final long BYTES = 2 << 10;

  private final InferStream stream;
  private final String modelName;
  private final String id;
  private @Nullable InferExchange exchange;
  private volatile @Nullable Submission submission;
  private @Nullable LentAnswer answer; // published by done, as the next three
  private long byteSize;
  private @Nullable Outcome outcome;
  private @Nullable WireException failure;
  private volatile boolean done;

  /** Set before anything is answered, by the thread that submits. */
  private volatile boolean inParts;

  /** Why parts are not sent on; for the writing thread. */
  private @Nullable WireException unsendable;

  StreamTurn(InferStream stream, String modelName, String id) {
    this.stream = stream;
    this.modelName = modelName;
    this.id = id;
  }

  void submit(InferExchange begun) {
    exchange = begun;
    Inference inference = stream.inference();
    begun.calledIn(stream.calledIn());
    Submission submitted =
        inference
            .engine()
            .submit(
                inference.request(
                    begun, stream.callNanos(), stream.caller(), stream.rights(), this));
    submission = submitted;
    if (stream.isOver()) {
      submitted.cancel(); // it may have closed before there was anything to cancel
    }
  }

  void cancel() {
    Submission submitted = submission;
    if (submitted != null) {
      submitted.cancel();
    }
  }

  /** True when all that is told of it is known. */
  boolean isDone() {
    return done;
  }

  /** Of the answer, or of its last part. */
  long byteSize() {
    return byteSize;
  }

  @Override
  public @Nullable String onManyParts() {
    InferExchange begun = exchange;
    if (begun != null && begun.writesShared()) {
      return "outputs of models with decoupled transaction policy are not written to shared memory, where a part would replace the one before; request them without";
    }
    if (!inParts) {
      inParts = true;
      stream.takeOutOfTurn(this);
    }
    return null;
  }

  @Override
  public void onPart(Answer part) {
    LentAnswer lent = new LentAnswer(part);
    long bytes = 0;
    for (OutputTensor output : part.outputs()) {
      bytes += output.data().byteSize();
    }
    if (part.isLast()) {
      answer = lent;
      byteSize = bytes;
    } else {
      stream.add(new StreamPart(this, lent, bytes));
      stream.written(this);
    }
  }

  /** Has the end say so; what is left of the answer is not made. */
  void failBy(WireException why) {
    unsendable = why;
    cancel();
  }

  @Override
  public void onEnd(Outcome end) {
    outcome = end;
    if (answer == null && !(inParts && end instanceof Outcome.Completed)) {
      failure = Outcomes.failure(end);
    }
    over();
    stream.written(this);
  }

  private void over() {
    InferExchange begun = exchange;
    if (begun != null) {
      begun.releaseInputs(); // an answer that waits to be written needs none
    }
    done = true;
    if (inParts) {
      stream.add(new StreamPart(this, null, byteSize));
    }
  }

  void fail(RuntimeException thrown) {
    InferExchange begun = exchange;
    failure =
        UnaryAnswer.refusal(
            thrown, begun == null ? new AboutRequest(id, stream.calledIn()) : begun.about());
    over();
    stream.write();
  }

  @Nullable WireException failure() {
    return unsendable == null ? failure : unsendable;
  }

  /** A part before the end. */
  EncodedMessage encode(LentAnswer part) {
    return StreamMessages.part(Objects.requireNonNull(exchange), part);
  }

  /** The answer, or its end; null when the client is told nothing more. */
  @Nullable EncodedMessage encode() {
    LentAnswer part = answer;
    Outcome end = outcome;
    InferExchange begun = exchange;
    if (inParts && part == null && end instanceof Outcome.Completed completed) {
      return begun != null && begun.wantsEmptyEnd() ? StreamMessages.end(begun, completed) : null;
    }
    if (part == null || end == null || begun == null) {
      throw new IllegalStateException("a request without an answer has ended well");
    }
    return StreamMessages.last(begun, part, end);
  }

  EncodedMessage encode(WireException error) {
    return StreamMessages.error(stream.texts(), modelName, id, error);
  }

  /**
   * The answer has been written: its memory is released once nothing is sent from it, and its bytes
   * count until they are sent.
   */
  void free(ArrayDeque<Answer> counted) {
    release();
    Answer part = answer;
    if (part != null) {
      part.free();
      counted.add(part);
    }
  }

  void close() {
    release();
    Answer part = answer;
    if (part != null) {
      part.close();
    }
  }

  /** It is written, or never will be. */
  private void release() {
    stream.giveBackTurn();
    InferExchange begun = exchange;
    if (begun != null) {
      begun.close();
    }
  }
}

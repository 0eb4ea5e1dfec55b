package dev.roundhouse.worker.transport.v1;

import com.google.protobuf.ByteString;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.v1.proto.InferResponse;
import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One request over gRPC on its way through the engine. Its answer stays in the engine's memory,
 * where it is counted, until it is taken to be written.
 */
final class GrpcRun implements AnswerSink {
  private final V1Exchange exchange;
  private final Statuses statuses;
  private final Consumer<GrpcRun> done;
  private volatile @Nullable Submission submission;
  private @Nullable Answer answer; // published by outcome
  private volatile @Nullable Outcome outcome;

  /**
   * @param exchange owned by this
   * @param done told when there is something to {@link #take}, by a thread that must not be held up
   */
  GrpcRun(V1Exchange exchange, Statuses statuses, Consumer<GrpcRun> done) {
    this.exchange = exchange;
    this.statuses = statuses;
    this.done = done;
  }

  void submit(Engine engine, InferenceRequest made) {
    submission = engine.submit(made);
  }

  /** Any thread; harmless when repeated. */
  void cancel() {
    Submission submitted = submission;
    if (submitted != null) {
      submitted.cancel();
    }
  }

  @Override
  public String onManyParts() {
    return V1Exchange.MANY_PARTS;
  }

  @Override
  public void onPart(Answer part) {
    answer = part;
  }

  @Override
  public void onEnd(Outcome end) {
    outcome = end;
    done.accept(this);
  }

  boolean isDone() {
    return outcome != null;
  }

  /** Bytes that {@link #take} will copy. */
  long byteSize() {
    Answer part = answer;
    long bytes = 0;
    if (part != null) {
      for (OutputTensor output : part.outputs()) {
        bytes += output.data().byteSize();
      }
    }
    return bytes;
  }

  /** What is answered; lets go of everything. Once, when it is done. */
  InferResponse take() {
    try {
      return response();
    } catch (RuntimeException e) {
      return failed(e);
    } catch (Error e) {
      // The call must be answered: its client would wait forever.
      return failed(new IllegalStateException("no answer could be made", e));
    } finally {
      drop();
    }
  }

  /** Lets go of everything: nobody waits for it. */
  void drop() {
    exchange.close();
    Answer part = answer;
    if (part != null) {
      part.close();
    }
  }

  private InferResponse response() {
    AnswerMapper.Mapped mapped = exchange.answer(answer, Objects.requireNonNull(outcome));
    long bytes = 0;
    for (ByteBuffer raw : mapped.raw()) {
      bytes += raw.remaining();
    }
    if (bytes > Integer.MAX_VALUE - GrpcRequest.MOST_HEADER_BYTES) {
      throw WireException.invalidArgument(
          "the outputs have %d bytes, which is more than a message holds; ask for fewer, or have them written to shared memory"
              .formatted(bytes));
    }
    InferResponse.Builder response =
        InferResponse.newBuilder()
            .setRequestStatus(statuses.success())
            .setMetaData(mapped.header());
    mapped.raw().forEach(raw -> response.addRawOutput(ByteString.copyFrom(raw.duplicate())));
    return response.build();
  }

  private InferResponse failed(RuntimeException failure) {
    return InferResponse.newBuilder()
        .setRequestStatus(statuses.of(failure, exchange.v2().about()))
        .setMetaData(exchange.answers().failed())
        .build();
  }
}

package dev.roundhouse.worker.transport.grpc;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.kserve.codec.EncodedMessage;
import dev.roundhouse.kserve.codec.ResponseEncoder;
import dev.roundhouse.worker.transport.InferExchange;
import dev.roundhouse.worker.transport.Outcomes;
import io.grpc.stub.ServerCallStreamObserver;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * One ModelInfer call: takes the answer, writes it, and returns its memory budget when the client
 * has been sent all of it, or is gone.
 *
 * <p>Flow control decides when the answer is sent: large outputs in place, small ones from buffers
 * of the connection. The answer's own memory is released once nothing more is sent from it; its
 * bytes stay counted until the call is closed.
 */
final class InferCall implements AnswerSink {
  /** The answer has been handed to gRPC, or never will be. */
  private static final int WRITTEN = 1;

  /** The call is over: everything was sent, or the client is gone. */
  private static final int CLOSED = 2;

  private final ServerCallStreamObserver<EncodedMessage> call;
  private final InferExchange exchange;
  private final AtomicInteger seen = new AtomicInteger();
  private volatile @Nullable Submission submission;
  private @Nullable LentAnswer answer; // published by seen

  /**
   * @param exchange owned by this: closed when the answer has been written or given up
   */
  InferCall(ServerCallStreamObserver<EncodedMessage> call, InferExchange exchange) {
    this.call = call;
    this.exchange = exchange;
  }

  void submit(Engine engine, InferenceRequest made) {
    call.setOnCancelHandler(this::onClosed);
    call.setOnCloseHandler(this::onClosed);
    Submission submitted = engine.submit(made);
    submission = submitted;
    if (call.isCancelled()) {
      submitted.cancel(); // the handler may have run before there was anything to cancel
    }
  }

  @Override
  public String onManyParts() {
    return "ModelInfer RPC doesn't support models with decoupled transaction policy";
  }

  @Override
  public void onPart(Answer part) {
    answer = new LentAnswer(part);
  }

  @Override
  public void onEnd(Outcome outcome) {
    LentAnswer part = answer;
    try {
      write(part, outcome);
    } finally {
      exchange.close();
      if (part != null) {
        part.free();
      }
      if ((seen.getAndUpdate(bits -> bits | WRITTEN) & CLOSED) != 0 && part != null) {
        part.close();
      }
    }
  }

  private void write(@Nullable LentAnswer part, Outcome outcome) {
    if (call.isCancelled()) {
      return; // no one reads it: not encoded
    }
    EncodedMessage message;
    try {
      message = encode(part, outcome);
    } catch (RuntimeException e) {
      fail(e);
      return;
    } catch (Error e) {
      // The call must end: its client would wait forever.
      fail(new IllegalStateException("no answer could be made", e));
      return;
    }
    call.onNext(message);
    call.onCompleted();
  }

  private void fail(RuntimeException failure) {
    UnaryAnswer.fail(call, failure, exchange.about());
  }

  private EncodedMessage encode(@Nullable LentAnswer part, Outcome outcome) {
    if (part == null) {
      throw Outcomes.failure(outcome);
    }
    return ResponseEncoder.encode(exchange.response(part, outcome, Map.of())).lentBy(part);
  }

  /** Called on the connection's event loop, at least once. */
  private void onClosed() {
    if ((seen.getAndUpdate(bits -> bits | CLOSED) & WRITTEN) != 0) {
      Answer part = answer;
      if (part != null) {
        part.close();
      }
      return;
    }
    Submission submitted = submission;
    if (submitted != null) {
      submitted.cancel();
    }
  }
}

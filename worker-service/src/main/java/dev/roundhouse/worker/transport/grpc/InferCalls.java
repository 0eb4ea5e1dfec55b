package dev.roundhouse.worker.transport.grpc;

import dev.roundhouse.bundle.request.RequestOptions;
import dev.roundhouse.kserve.codec.EncodedMessage;
import dev.roundhouse.kserve.codec.InferMessage;
import dev.roundhouse.platform.logging.AboutRequest;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.worker.transport.InferExchange;
import dev.roundhouse.worker.transport.Inference;
import io.grpc.Context;
import io.grpc.Deadline;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.opentelemetry.api.trace.SpanContext;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.context.event.EventListener;

/**
 * Takes ModelInfer and ModelStreamInfer calls, on event loops. When the worker stops, streams end
 * once their requests are answered: an idle stream would delay the server for the whole drain time.
 * Thread-safe.
 */
public final class InferCalls {
  private final Inference inference;
  private final ClientText texts;
  private final Set<InferStream> streams = ConcurrentHashMap.newKeySet();
  private volatile boolean stopping;

  /**
   * @param texts error texts for callers
   */
  public InferCalls(Inference inference, ClientText texts) {
    this.inference = inference;
    this.texts = texts;
  }

  void infer(
      InferMessage message,
      int caller,
      @Nullable CallerRights rights,
      long spentNanos,
      @Nullable SpanContext calledIn,
      StreamObserver<EncodedMessage> observer) {
    InferExchange exchange;
    try {
      Inference.admit(rights, message.modelName(), 0);
      exchange = inference.begin(message);
    } catch (RuntimeException e) {
      UnaryAnswer.fail(observer, e, new AboutRequest(message.id(), calledIn));
      return;
    }
    if (rights != null) {
      rights.arrived(exchange.inlineBytes());
    }
    try {
      exchange.spent(spentNanos);
      exchange.calledIn(calledIn);
      InferCall call = new InferCall((ServerCallStreamObserver<EncodedMessage>) observer, exchange);
      long left = leftNanos(Context.current().getDeadline());
      call.submit(inference.engine(), inference.request(exchange, left, caller, rights, call));
    } catch (RuntimeException e) {
      exchange.close();
      UnaryAnswer.fail(observer, e, exchange.about());
    }
  }

  StreamObserver<InferMessage> stream(
      int caller,
      @Nullable CallerRights rights,
      @Nullable SpanContext calledIn,
      StreamObserver<EncodedMessage> observer) {
    Deadline deadline = Context.current().getDeadline();
    InferStream stream =
        new InferStream(
            (ServerCallStreamObserver<EncodedMessage>) observer,
            this,
            () -> leftNanos(deadline),
            InferMethods.FAILS_WHOLE.get(),
            caller,
            rights,
            calledIn,
            InferMethods.MEMORY.get());
    stream.begin();
    streams.add(stream);
    if (stopping) {
      stream.stop();
    }
    return stream;
  }

  /** A stream is over. */
  void closed(InferStream stream) {
    streams.remove(stream);
  }

  /** Streams that are open. Any thread. */
  public int openStreams() {
    return streams.size();
  }

  Inference inference() {
    return inference;
  }

  ClientText texts() {
    return texts;
  }

  @EventListener(ContextClosedEvent.class)
  void onStop() {
    stopping = true;
    streams.forEach(InferStream::stop);
  }

  private static long leftNanos(@Nullable Deadline deadline) {
    return deadline == null
        ? RequestOptions.NO_TIMEOUT
        : deadline.timeRemaining(TimeUnit.NANOSECONDS);
  }
}

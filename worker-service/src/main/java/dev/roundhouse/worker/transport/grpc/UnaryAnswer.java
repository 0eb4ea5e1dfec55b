package dev.roundhouse.worker.transport.grpc;

import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.platform.logging.AboutRequest;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Answers, now or later, or refuses a call with one request and one answer. */
public final class UnaryAnswer {
  private static final Logger log = LoggerFactory.getLogger(UnaryAnswer.class);

  private UnaryAnswer() {}

  /** Answers with what is made now. */
  static <T> void now(StreamObserver<T> call, Supplier<T> answer) {
    T message;
    try {
      message = answer.get();
    } catch (RuntimeException e) {
      fail(call, e);
      return;
    }
    send(call, message);
  }

  /**
   * Answers with what is made later.
   *
   * @param asked begins it; what it throws, or its future fails with, is sent to the caller
   */
  public static <T> void later(StreamObserver<T> call, Supplier<CompletableFuture<T>> asked) {
    CompletableFuture<T> answer;
    try {
      answer = asked.get();
    } catch (RuntimeException e) {
      fail(call, e);
      return;
    }
    var unused =
        answer.whenComplete(
            (message, failure) -> {
              if (failure == null) {
                send(call, message);
              } else {
                fail(call, cause(failure));
              }
            });
  }

  /** The actual failure: dependent stages wrap it. */
  public static Throwable cause(Throwable failure) {
    Throwable cause = failure;
    while (cause instanceof CompletionException && cause.getCause() != null) {
      cause = cause.getCause();
    }
    return cause;
  }

  private static <T> void send(StreamObserver<T> call, T message) {
    call.onNext(message);
    call.onCompleted();
  }

  /** Refuses a call: in the protocol's words, or none when it is not the caller's to know. */
  static void fail(StreamObserver<?> call, Throwable failure) {
    fail(call, failure, AboutRequest.UNKNOWN);
  }

  /** The same for a request that the log can name. */
  static void fail(StreamObserver<?> call, Throwable failure, AboutRequest about) {
    call.onError(status(refusal(failure, about)));
  }

  /** The refusal sent to a caller; an internal failure is logged. */
  public static WireException refusal(Throwable failure, AboutRequest about) {
    if (failure instanceof WireException refusal) {
      return refusal;
    }
    about.log(() -> log.error("a call failed unexpectedly", failure));
    return new WireException(WireStatus.INTERNAL, "Internal server error; see the server's log");
  }

  static StatusRuntimeException status(WireException refusal) {
    Status status =
        Status.fromCodeValue(refusal.status().grpcCode()).withDescription(refusal.text());
    Metadata trailers = new Metadata();
    refusal.besides(
        (name, value) ->
            trailers.put(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER), value));
    return status.asRuntimeException(trailers);
  }
}

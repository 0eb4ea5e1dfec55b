package dev.roundhouse.gateway.grpc;

import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** How a call of one request and one answer is answered; a worker's status goes on unchanged. */
final class Answer {
  private static final Logger log = LoggerFactory.getLogger(Answer.class);

  private Answer() {}

  static <T> void now(StreamObserver<T> call, Supplier<T> answer) {
    later(call, () -> CompletableFuture.completedFuture(answer.get()));
  }

  static <T> void later(StreamObserver<T> call, Supplier<CompletableFuture<T>> asked) {
    CompletableFuture<T> answer;
    try {
      answer = asked.get();
    } catch (RuntimeException e) {
      call.onError(status(e).asRuntimeException());
      return;
    }
    var unused =
        answer.whenComplete(
            (message, failure) -> {
              if (failure == null) {
                call.onNext(message);
                call.onCompleted();
              } else {
                call.onError(status(failure).asRuntimeException());
              }
            });
  }

  /** What a failure is told as; one that nobody expects is logged. */
  static Status status(Throwable failure) {
    Throwable cause = failure;
    while (cause instanceof CompletionException && cause.getCause() != null) {
      cause = cause.getCause();
    }
    return switch (cause) {
      case StatusRuntimeException told -> told.getStatus();
      case StatusException told -> told.getStatus();
      default -> {
        log.error("a call failed unexpectedly", cause);
        yield Status.INTERNAL.withDescription("Internal server error; see the gateway's log");
      }
    };
  }
}

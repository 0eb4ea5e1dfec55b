package dev.roundhouse.client;

import dev.roundhouse.client.retry.RetryBudget;
import io.grpc.CallOptions;
import io.grpc.Metadata;
import io.grpc.Status;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** What all calls of a client share: the servers, the settings, the counts. Thread-safe. */
final class ClientLink {
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  final Targets targets;
  final CallSettings settings;
  final RetryBudget retries;
  final Tally tally = new Tally();
  volatile boolean closed;

  /** Null when no memory is shared. */
  final @Nullable SharedTensors shared;

  ClientLink(Targets targets, CallSettings settings, SharedMemory sharedMemory) {
    this.targets = targets;
    this.settings = settings;
    retries = new RetryBudget(settings.retry());
    shared =
        sharedMemory.mode() == SharedMemory.Mode.OFF
            ? null
            : new SharedTensors(sharedMemory, this, new ControlCalls(this));
  }

  /**
   * What goes before a request.
   *
   * @throws KServeException UNAUTHENTICATED when a required token is missing
   */
  Metadata headers() {
    Metadata headers = new Metadata();
    Supplier<String> token = settings.token();
    if (token != null) {
      headers.put(AUTHORIZATION, "Bearer " + token(token));
    }
    return headers;
  }

  private static String token(Supplier<String> supplier) {
    String token;
    try {
      token = Objects.requireNonNull(supplier.get(), "it gave none");
    } catch (RuntimeException e) {
      throw new KServeException(
          Status.Code.UNAUTHENTICATED, "the token provider failed: " + e.getMessage(), e, null);
    }
    if (token.isBlank() || !token.chars().allMatch(each -> each > ' ' && each < 0x7f)) {
      throw new KServeException(
          Status.Code.UNAUTHENTICATED,
          "the token provider gave a token that is empty, or has characters that no header may"
              + " have",
          null,
          null);
    }
    return token;
  }

  /**
   * @param leftNanos {@link Long#MAX_VALUE} for no deadline
   */
  CallOptions options(long leftNanos) {
    CallOptions options =
        CallOptions.DEFAULT
            .withMaxInboundMessageSize(settings.maxAnswerBytes())
            .withMaxOutboundMessageSize(settings.maxRequestBytes());
    return leftNanos == Long.MAX_VALUE
        ? options
        : options.withDeadlineAfter(leftNanos, TimeUnit.NANOSECONDS);
  }
}

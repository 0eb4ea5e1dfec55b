package dev.roundhouse.client;

import io.grpc.Status;
import org.jspecify.annotations.Nullable;

/** A failed call: its gRPC code, and the server's message. */
public final class KServeException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final Status.Code code;
  private final String text;
  private final transient @Nullable CallStats stats;

  KServeException(
      Status.Code code, String message, @Nullable Throwable cause, @Nullable CallStats stats) {
    super(code + ": " + message, cause);
    this.code = code;
    text = message;
    this.stats = stats;
  }

  static KServeException of(Status status, @Nullable CallStats stats) {
    String description = status.getDescription();
    return new KServeException(
        status.getCode(),
        description == null ? "the server gave no reason" : description,
        status.getCause(),
        stats);
  }

  public Status.Code code() {
    return code;
  }

  /** The message without the code. */
  String text() {
    return text;
  }

  /** What the call took; null when it was not an inference call. */
  public @Nullable CallStats stats() {
    return stats;
  }
}

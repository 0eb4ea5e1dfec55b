package dev.roundhouse.engine.queue;

import dev.roundhouse.engine.request.Status;

/** A request that is not accepted. Never leaves the engine: it becomes an outcome. */
public final class RefusedException extends Exception {
  private final Status status;

  public RefusedException(Status status, String message) {
    // No stack trace: a refusal is an answer, and answering must stay cheap under attack.
    super(message, null, false, false);
    this.status = status;
  }

  public Status status() {
    return status;
  }

  public static RefusedException invalid(String message) {
    return new RefusedException(Status.INVALID_ARGUMENT, message);
  }

  @Override
  public String getMessage() {
    String message = super.getMessage();
    return message == null ? "" : message;
  }
}

package dev.roundhouse.engine.embedded;

import dev.roundhouse.engine.request.Status;

/** Why an inference was not answered, and what to do. */
public final class InferenceException extends RuntimeException {
  private final Status status;

  InferenceException(Status status, String message) {
    super(message);
    this.status = status;
  }

  public Status status() {
    return status;
  }
}

package dev.roundhouse.engine.embedded;

import dev.roundhouse.engine.request.Status;

/** An inference that was not answered: why, and what to do. */
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

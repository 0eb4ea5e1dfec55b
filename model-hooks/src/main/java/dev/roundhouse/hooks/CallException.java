package dev.roundhouse.hooks;

/** A model that a meta has called does not answer. */
public final class CallException extends RuntimeException {
  private final String model;
  private final String status;

  /**
   * @param model that was called
   * @param status as gRPC names it, such as {@code DEADLINE_EXCEEDED}
   * @param message why
   */
  public CallException(String model, String status, String message) {
    super(message);
    this.model = model;
    this.status = status;
  }

  public String model() {
    return model;
  }

  public String status() {
    return status;
  }
}

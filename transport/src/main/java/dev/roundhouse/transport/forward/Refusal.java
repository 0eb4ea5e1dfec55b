package dev.roundhouse.transport.forward;

import org.jspecify.annotations.Nullable;

/**
 * A server's statement that it is well and refuses because of the call: the cause of its status.
 * Carries no stack trace.
 */
public final class Refusal extends Exception {
  private static final long serialVersionUID = 1;

  /** Another server may have the model. */
  public static final Refusal OF_MODEL = new Refusal("the server does not have the model now");

  /** No other server should be asked. */
  public static final Refusal OF_REQUEST = new Refusal("the request cannot be answered in time");

  /** Shared memory that the request names is not registered; no other server should be asked. */
  public static final Refusal OF_REGION = new Refusal("the server does not have the region");

  private Refusal(String text) {
    super(text, null, false, false);
  }

  /**
   * Reads the refusal trailer or header.
   *
   * @param text {@code model}, {@code request} or {@code region}; null for nothing
   */
  public static @Nullable Refusal read(@Nullable CharSequence text) {
    return switch (String.valueOf(text)) {
      case "model" -> OF_MODEL;
      case "request" -> OF_REQUEST;
      case "region" -> OF_REGION;
      default -> null;
    };
  }
}

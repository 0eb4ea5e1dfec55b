package dev.roundhouse.transport.forward;

import org.jspecify.annotations.Nullable;

/**
 * A server's word that it is well, and what it refuses is up to the call: the cause of the status
 * that it answered with. Carries no stack trace.
 */
public final class Refusal extends Exception {
  private static final long serialVersionUID = 1;

  /** Another server may have the model. */
  public static final Refusal OF_MODEL = new Refusal("the server does not have the model now");

  /** No other server is to be asked. */
  public static final Refusal OF_REQUEST = new Refusal("the request cannot be answered in time");

  private Refusal(String text) {
    super(text, null, false, false);
  }

  /**
   * What a server says in the trailer or header that is for it.
   *
   * @param text {@code model} or {@code request}; null for nothing
   */
  public static @Nullable Refusal read(@Nullable CharSequence text) {
    return switch (String.valueOf(text)) {
      case "model" -> OF_MODEL;
      case "request" -> OF_REQUEST;
      default -> null;
    };
  }
}

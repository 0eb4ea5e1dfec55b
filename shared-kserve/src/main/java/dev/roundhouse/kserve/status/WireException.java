package dev.roundhouse.kserve.status;

/**
 * A call that fails with a status and a text for the caller. Carries no stack trace: it is an
 * answer, made once per bad request.
 */
public final class WireException extends RuntimeException {

  /**
   * Longest text that is sent. Texts quote what the caller sent, and clients refuse response
   * headers above 8 KiB, in which every byte that is not plain ASCII takes three.
   */
  static final int MAX_MESSAGE_CHARS = 1000;

  private final WireStatus status;
  private final String text;

  public WireException(WireStatus status, String message) {
    super(message, null, false, false);
    this.status = status;
    this.text = abbreviated(message);
  }

  public static WireException invalidArgument(String message) {
    return new WireException(WireStatus.INVALID_ARGUMENT, message);
  }

  public WireStatus status() {
    return status;
  }

  /** What the caller is told: the message, abbreviated when it is very long. */
  public String text() {
    return text;
  }

  private static String abbreviated(String message) {
    return message.length() <= MAX_MESSAGE_CHARS
        ? message
        : message.substring(0, MAX_MESSAGE_CHARS - 3) + "...";
  }
}

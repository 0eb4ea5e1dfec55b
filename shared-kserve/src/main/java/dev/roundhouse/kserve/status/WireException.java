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

  /**
   * What stands beside a status, as a gRPC trailer or a header of HTTP, when {@link #began}; its
   * value is {@code true}.
   */
  public static final String BEGAN = "roundhouse-began";

  private final WireStatus status;
  private final String text;
  private final boolean began;

  public WireException(WireStatus status, String message) {
    this(status, message, false);
  }

  /**
   * @param began the request was on the device when the server failed, and may be why
   */
  public WireException(WireStatus status, String message, boolean began) {
    super(message, null, false, false);
    this.status = status;
    this.text = abbreviated(message);
    this.began = began;
  }

  public static WireException invalidArgument(String message) {
    return new WireException(WireStatus.INVALID_ARGUMENT, message);
  }

  public WireStatus status() {
    return status;
  }

  /** True when the request may be what ended the server: nobody is to send it to another. */
  public boolean began() {
    return began;
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

package dev.roundhouse.transport.http1;

/** A request is refused. */
final class RequestRefusedException extends Exception {
  private final int code;

  /**
   * @param code HTTP status
   * @param text for the client
   */
  RequestRefusedException(int code, String text) {
    super(text, null, false, false);
    this.code = code;
  }

  int code() {
    return code;
  }

  String text() {
    return String.valueOf(getMessage());
  }
}

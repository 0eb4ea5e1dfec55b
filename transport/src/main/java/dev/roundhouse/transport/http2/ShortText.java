package dev.roundhouse.transport.http2;

/**
 * Shortens what a client has sent when it is quoted back to it: a long text must not bring a long
 * answer.
 */
final class ShortText {
  private static final int MOST_CHARACTERS = 255;

  private ShortText() {}

  static String of(CharSequence text) {
    return text.length() <= MOST_CHARACTERS
        ? text.toString()
        : text.subSequence(0, MOST_CHARACTERS) + "... (" + text.length() + " characters)";
  }
}

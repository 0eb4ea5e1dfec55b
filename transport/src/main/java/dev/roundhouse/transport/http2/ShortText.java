package dev.roundhouse.transport.http2;

/** What a client has sent, as it is told to it again: whoever sends much must not be sent much. */
final class ShortText {
  private static final int MOST_CHARACTERS = 255;

  private ShortText() {}

  static String of(CharSequence text) {
    return text.length() <= MOST_CHARACTERS
        ? text.toString()
        : text.subSequence(0, MOST_CHARACTERS) + "... (" + text.length() + " characters)";
  }
}

package dev.roundhouse.platform.logging;

/**
 * Texts as log records may show them. Whatever a client has put into one, it ends no line, moves no
 * cursor and turns no direction of writing: such characters are written as {@code \n} or {@code
 * \u001b}. A long text is cut, and says how long it was.
 */
final class Harmless {
  /**
   * Characters of a text that are shown. Longer than any text of our own, and than ClientText's.
   */
  static final int MOST = 8192;

  private static final char DELETE = 0x7f;

  private Harmless() {}

  /** {@code text} in one line. */
  static String line(String text) {
    return cut(escaped(text, false));
  }

  /** {@code text} with its ends of lines and tabs, for where they cannot end a record. */
  static String lines(String text) {
    return escaped(text, true);
  }

  private static String cut(String text) {
    return text.length() <= MOST
        ? text
        : text.substring(0, MOST) + "... (" + text.length() + " characters)";
  }

  private static String escaped(String text, boolean keepsLines) {
    for (int i = 0; i < text.length(); i++) {
      if (isHarmful(text, i, keepsLines)) {
        return escapedFrom(text, i, keepsLines);
      }
    }
    return text;
  }

  private static String escapedFrom(String text, int first, boolean keepsLines) {
    StringBuilder escaped = new StringBuilder(text.length() + 16).append(text, 0, first);
    for (int i = first; i < text.length(); i++) {
      char each = text.charAt(i);
      if (!isHarmful(text, i, keepsLines)) {
        escaped.append(each);
        continue;
      }
      switch (each) {
        case '\n' -> escaped.append("\\n");
        case '\r' -> escaped.append("\\r");
        case '\t' -> escaped.append("\\t");
        default -> escaped.append("\\u%04x".formatted((int) each));
      }
    }
    return escaped.toString();
  }

  private static boolean isHarmful(String text, int at, boolean keepsLines) {
    char each = text.charAt(at);
    if (each >= ' ' && each < DELETE) {
      return false;
    }
    if (keepsLines && (each == '\n' || each == '\r' || each == '\t')) {
      return false;
    }
    return switch (Character.getType(each)) {
      case Character.CONTROL,
          Character.FORMAT, // bidirectional overrides are some of these
          Character.LINE_SEPARATOR,
          Character.PARAGRAPH_SEPARATOR ->
          true;
      case Character.SURROGATE -> !isPaired(text, at);
      default -> false;
    };
  }

  private static boolean isPaired(String text, int at) {
    return Character.isHighSurrogate(text.charAt(at))
        ? at + 1 < text.length() && Character.isLowSurrogate(text.charAt(at + 1))
        : at > 0 && Character.isHighSurrogate(text.charAt(at - 1));
  }
}

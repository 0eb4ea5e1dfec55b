package dev.roundhouse.hooks.text;

import java.util.function.IntPredicate;

/** Changes of texts that go code point by code point. */
final class Letters {
  private static final int CAPITAL_I_WITH_DOT = 0x130;

  private Letters() {}

  /** Each letter by itself, whatever its place and the locale. */
  static String lowerCase(String text) {
    StringBuilder lower = new StringBuilder(text.length());
    text.codePoints()
        .forEach(
            letter -> {
              if (letter == CAPITAL_I_WITH_DOT) {
                lower.append("i\u0307");
              } else {
                lower.appendCodePoint(Character.toLowerCase(letter));
              }
            });
    return lower.toString();
  }

  static String without(String text, IntPredicate removed) {
    if (text.codePoints().noneMatch(removed)) {
      return text;
    }
    StringBuilder left = new StringBuilder(text.length());
    text.codePoints().filter(removed.negate()).forEach(left::appendCodePoint);
    return left.toString();
  }

  /** SentencePiece's {@code nmt} rules: controls go, what looks like a space is one. */
  static String cleanForTranslation(String text) {
    StringBuilder clean = new StringBuilder(text.length());
    text.codePoints()
        .filter(character -> !isTranslationControl(character))
        .map(character -> isTranslationSpace(character) ? ' ' : character)
        .forEach(clean::appendCodePoint);
    return clean.toString();
  }

  private static boolean isTranslationControl(int character) {
    return (character >= 0x1 && character <= 0x8)
        || character == 0xB
        || (character >= 0xE && character <= 0x1F)
        || character == 0x7F
        || character == 0x8F
        || character == 0x9F;
  }

  private static boolean isTranslationSpace(int character) {
    return switch (character) {
      case 0x9, 0xA, 0xC, 0xD, 0x1680, 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD -> true;
      default -> character >= 0x200B && character <= 0x200F;
    };
  }

  /** Halves of pairs that stand alone become U+FFFD, as in text that was read from UTF-8. */
  static String wellFormed(String text) {
    StringBuilder changed = null;
    for (int i = 0; i < text.length(); i++) {
      char unit = text.charAt(i);
      if (!Character.isSurrogate(unit)) {
        continue;
      }
      if (Character.isHighSurrogate(unit)
          && i + 1 < text.length()
          && Character.isLowSurrogate(text.charAt(i + 1))) {
        i++;
        continue;
      }
      if (changed == null) {
        changed = new StringBuilder(text);
      }
      changed.setCharAt(i, '\uFFFD');
    }
    return changed == null ? text : changed.toString();
  }

  /** Removes White_Space at the beginning, at the end, or both. */
  static String strip(String text, boolean left, boolean right) {
    int from = 0;
    int to = text.length();
    while (left && from < to && BertCharacters.isWhitespace(text.charAt(from))) {
      from++;
    }
    while (right && from < to && BertCharacters.isWhitespace(text.charAt(to - 1))) {
      to--;
    }
    return text.substring(from, to);
  }
}

package dev.roundhouse.hooks.text;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;

/**
 * Kinds of characters as the reference knows them. Read from a table, not asked of the JDK: they
 * stay at the version of Unicode that vocabularies were made with.
 */
final class BertCharacters {
  private static final Map<String, CodePointSet> TABLE = read();
  private static final CodePointSet PUNCTUATION = kind("punctuation");
  private static final CodePointSet CONTROL = kind("control");
  private static final CodePointSet NONSPACING_MARK = kind("nonspacing-mark");
  private static final CodePointSet MARK = kind("mark");

  private BertCharacters() {}

  static boolean isPunctuation(int codePoint) {
    return PUNCTUATION.contains(codePoint);
  }

  /**
   * Characters that cleaning removes: NUL, the replacement character, controls but tab and
   * newlines.
   */
  static boolean isControl(int codePoint) {
    return CONTROL.contains(codePoint);
  }

  static boolean isNonspacingMark(int codePoint) {
    return NONSPACING_MARK.contains(codePoint);
  }

  /** Marks of any kind, those that take room of their own included. */
  static boolean isMark(int codePoint) {
    return MARK.contains(codePoint);
  }

  /** Unicode's White_Space. */
  static boolean isWhitespace(int codePoint) {
    return (codePoint >= '\t' && codePoint <= '\r')
        || codePoint == 0x85
        || Character.isSpaceChar(codePoint);
  }

  static boolean isIdeograph(int codePoint) {
    return (codePoint >= 0x3400 && codePoint <= 0x4DBF)
        || (codePoint >= 0x4E00 && codePoint <= 0x9FFF)
        || (codePoint >= 0xF900 && codePoint <= 0xFAFF)
        || (codePoint >= 0x20000 && codePoint <= 0x2A6DF)
        || (codePoint >= 0x2A700 && codePoint <= 0x2B81F)
        || (codePoint >= 0x2B920 && codePoint <= 0x2CEAF)
        || (codePoint >= 0x2F800 && codePoint <= 0x2FA1F);
  }

  private static CodePointSet kind(String name) {
    return Objects.requireNonNull(TABLE.get(name));
  }

  private static Map<String, CodePointSet> read() {
    try (InputStream table =
        Objects.requireNonNull(BertCharacters.class.getResourceAsStream("bert-characters.txt"))) {
      return new String(table.readAllBytes(), StandardCharsets.US_ASCII)
          .lines()
          .map(line -> line.split(": "))
          .collect(Collectors.toMap(line -> line[0], line -> CodePointSet.parse(line[1])));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}

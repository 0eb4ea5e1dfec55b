package dev.roundhouse.hooks.text;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.regex.Pattern;

/**
 * GPT-2's way to have no unknown characters: each byte of UTF-8 is a printable character, so that
 * the vocabulary is one of bytes. Splits into words first, where it is told to.
 */
record ByteLevel(boolean addPrefixSpace, boolean splitsWords) implements PreTokenizer {
  private static final PreTokenizer WORDS =
      Splitter.at(
          Pattern.compile(
              "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
              Pattern.UNICODE_CHARACTER_CLASS),
          SplitBehavior.ISOLATED,
          false);
  private static final char[] CHARACTERS = characters();

  @Override
  public void split(Piece piece, List<Piece> into) {
    String text = piece.text();
    Piece spaced =
        addPrefixSpace && !text.isEmpty() && text.charAt(0) != ' '
            ? Piece.text(' ' + text, piece.first())
            : piece;
    int from = into.size();
    if (splitsWords) {
      WORDS.split(spaced, into);
    } else if (!text.isEmpty()) {
      into.add(spaced);
    }
    for (int i = from; i < into.size(); i++) {
      into.set(i, Piece.text(encode(into.get(i).text()), into.get(i).first()));
    }
  }

  static String encode(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    StringBuilder encoded = new StringBuilder(bytes.length);
    for (byte value : bytes) {
      encoded.append(CHARACTERS[value & 0xFF]);
    }
    return encoded.toString();
  }

  /** Bytes that Latin-1 prints are themselves, the others follow from U+0100 on. */
  private static char[] characters() {
    char[] characters = new char[256];
    char other = 0x100;
    for (int value = 0; value < 256; value++) {
      boolean isPrinted = (value >= '!' && value <= '~') || (value >= 0xA1 && value != 0xAD);
      characters[value] = isPrinted ? (char) value : other++;
    }
    return characters;
  }
}

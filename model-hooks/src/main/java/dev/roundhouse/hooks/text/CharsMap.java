package dev.roundhouse.hooks.text;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * SentencePiece's rules of replacement, compiled: a double array (darts-clone's layout) over UTF-8,
 * whose values are offsets of the replacements, which end with NUL.
 */
final class CharsMap implements Normalizer {
  /** What Unicode calls an extended grapheme cluster, what a reader calls a character. */
  private static final Pattern GRAPHEME = Pattern.compile("\\X");

  /** Longer ones are replaced code point by code point; bytes. */
  private static final int LONGEST_GRAPHEME = 5;

  private final int[] units;
  private final byte[] replacements;

  CharsMap(byte[] compiled) {
    ByteBuffer bytes = ByteBuffer.wrap(compiled).order(ByteOrder.LITTLE_ENDIAN);
    try {
      int trieBytes = bytes.getInt();
      if (trieBytes < 4 || trieBytes % 4 != 0 || trieBytes > bytes.remaining()) {
        throw new IllegalArgumentException(
            "precompiled_charsmap says that its trie has "
                + trieBytes
                + " of "
                + bytes.remaining()
                + " bytes");
      }
      units = new int[trieBytes / 4];
      bytes.asIntBuffer().get(units);
      bytes.position(4 + trieBytes);
    } catch (BufferUnderflowException e) {
      throw new IllegalArgumentException("precompiled_charsmap is shorter than its header", e);
    }
    replacements = new byte[bytes.remaining()];
    bytes.get(replacements);
  }

  @Override
  public String normalize(String text) {
    StringBuilder result = new StringBuilder(text.length());
    Matcher graphemes = GRAPHEME.matcher(text);
    while (graphemes.find()) {
      String grapheme = graphemes.group();
      byte[] bytes = grapheme.getBytes(StandardCharsets.UTF_8);
      String replacement = bytes.length <= LONGEST_GRAPHEME ? replacement(bytes) : null;
      if (replacement != null) {
        result.append(replacement);
        continue;
      }
      for (int i = 0; i < grapheme.length(); ) {
        int end = grapheme.offsetByCodePoints(i, 1);
        String character = grapheme.substring(i, end);
        String other = replacement(character.getBytes(StandardCharsets.UTF_8));
        result.append(other == null ? character : other);
        i = end;
      }
    }
    return result.toString();
  }

  /**
   * Returns what stands for the shortest beginning that has a rule, as the reference does, or null.
   */
  private @Nullable String replacement(byte[] key) {
    int node = offset(units[0]);
    for (byte value : key) {
      node ^= value & 0xFF;
      if (value == 0 || node >= units.length || label(units[node]) != (value & 0xFF)) {
        return null;
      }
      int unit = units[node];
      node ^= offset(unit);
      if (((unit >>> 8) & 1) == 1) {
        return node < units.length ? textAt(units[node] & Integer.MAX_VALUE) : null;
      }
    }
    return null;
  }

  private @Nullable String textAt(int start) {
    if (start > replacements.length) {
      return null;
    }
    int end = start;
    while (end < replacements.length && replacements[end] != 0) {
      end++;
    }
    return new String(replacements, start, end - start, StandardCharsets.UTF_8);
  }

  private static int label(int unit) {
    return unit & ((1 << 31) | 0xFF);
  }

  private static int offset(int unit) {
    return (unit >>> 10) << ((unit & (1 << 9)) >>> 6);
  }
}

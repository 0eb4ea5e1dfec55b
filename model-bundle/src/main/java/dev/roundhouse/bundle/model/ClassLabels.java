package dev.roundhouse.bundle.model;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Names of classes, one per line of a file, the first line that of class 0. A class beyond the last
 * line, or with an empty line, has none. Immutable.
 */
public final class ClassLabels {
  /** A line more names no class: outputs with more elements are not ranked. */
  public static final int MOST_LINES = 1_000_000;

  public static final ClassLabels NONE = new ClassLabels(new byte[0], new int[] {0});

  private final byte[] text; // lines one after the other, without their ends
  private final int[] starts; // of each line, and the end of the last
  private final int longestBytes;

  private ClassLabels(byte[] text, int[] starts) {
    this.text = text;
    this.starts = starts;
    int longest = 0;
    for (int line = 0; line + 1 < starts.length; line++) {
      longest = Math.max(longest, starts[line + 1] - starts[line]);
    }
    longestBytes = longest;
  }

  /**
   * @param file UTF-8; lines end with LF or CR LF
   * @throws IllegalArgumentException saying what is wrong with it
   */
  public static ClassLabels parse(byte[] file) {
    try {
      var unused = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(file));
    } catch (CharacterCodingException e) {
      throw new IllegalArgumentException("is no UTF-8; write one label per line in UTF-8", e);
    }
    byte[] text = new byte[file.length];
    int[] starts = new int[Math.min(lines(file), MOST_LINES) + 1];
    int size = 0;
    int line = 0;
    int begin = 0;
    while (begin < file.length) {
      if (line == MOST_LINES) {
        throw new IllegalArgumentException(
            "has more than %d lines, one label each; no output has more classes"
                .formatted(MOST_LINES));
      }
      int end = begin;
      while (end < file.length && file[end] != '\n') {
        end++;
      }
      int length = end - begin - (end > begin && file[end - 1] == '\r' ? 1 : 0);
      System.arraycopy(file, begin, text, size, length);
      size += length;
      starts[++line] = size;
      begin = end + 1;
    }
    return new ClassLabels(Arrays.copyOf(text, size), starts);
  }

  /** An end of a line that ends the file begins no other line. */
  private static int lines(byte[] file) {
    int lines = file.length == 0 || file[file.length - 1] == '\n' ? 0 : 1;
    for (byte each : file) {
      lines += each == '\n' ? 1 : 0;
    }
    return lines;
  }

  /** How many classes have a line. */
  public int count() {
    return starts.length - 1;
  }

  /** Of the longest label; 0 when there is none. */
  public int longestBytes() {
    return longestBytes;
  }

  /** Of the label of a class; 0 when it has none. */
  public int byteSize(int index) {
    return index < count() ? starts[index + 1] - starts[index] : 0;
  }

  /** Writes the label of a class, nothing when it has none. */
  public void copyTo(int index, ByteBuffer to) {
    int length = byteSize(index);
    if (length > 0) {
      to.put(text, starts[index], length);
    }
  }

  /** The label of a class, empty when it has none. */
  public String text(int index) {
    int length = byteSize(index);
    return length == 0 ? "" : new String(text, starts[index], length, StandardCharsets.UTF_8);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ClassLabels that
        && Arrays.equals(text, that.text)
        && Arrays.equals(starts, that.starts);
  }

  @Override
  public int hashCode() {
    return 31 * Arrays.hashCode(starts) + Arrays.hashCode(text);
  }
}

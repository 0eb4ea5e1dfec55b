package dev.roundhouse.bundle.tensor;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * How elements of {@link DType#BYTES} lie in memory, as on the wire: for each, row-major, a 4-byte
 * little-endian unsigned length, then that many bytes. Pure.
 */
public final class BytesLayout {
  /** The length before an element. */
  public static final ValueLayout.OfInt LENGTH =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private static final int MOST_ARRAY_BYTES = Integer.MAX_VALUE - 8;

  private BytesLayout() {}

  /**
   * Checks that {@code data} holds exactly so many whole elements. The texts are Triton's.
   *
   * @param of whose they are, such as {@code inference input 'x' for model 'm'}
   * @throws IllegalArgumentException saying what is wrong
   */
  public static void check(MemorySegment data, long elements, Object of) {
    long size = data.byteSize();
    long at = 0;
    long found = 0;
    while (at < size) {
      if (found == elements) {
        throw new IllegalArgumentException(
            "unexpected number of string elements %d for %s, expecting %d"
                .formatted(found + 1, of, elements));
      }
      long left = size - at - Integer.BYTES;
      if (left < 0) {
        throw new IllegalArgumentException(
            "incomplete string length indicator for %s, expecting 4 bytes but only %d bytes available"
                .formatted(of, size - at));
      }
      long length = Integer.toUnsignedLong(data.get(LENGTH, at));
      if (length > left) {
        throw new IllegalArgumentException(
            "incomplete string data for %s, expecting string of length %d but only %d bytes available"
                .formatted(of, length, left));
      }
      at += Integer.BYTES + length;
      found++;
    }
    if (found != elements) {
      throw wrongCount(elements, found, of);
    }
  }

  /**
   * Checks that so many bytes may hold so many elements, without looking at them.
   *
   * @param of as for {@link #check}
   * @throws IllegalArgumentException when they are too few even for the lengths
   */
  public static void requireRoom(long byteSize, long elements, Object of) {
    if (elements > byteSize / Integer.BYTES) {
      throw wrongCount(elements, byteSize / Integer.BYTES, of);
    }
  }

  /**
   * Texts as elements, in UTF-8, in an array.
   *
   * @throws IllegalArgumentException when they have more bytes than an array holds
   */
  public static MemorySegment ofStrings(List<String> texts) {
    List<byte[]> elements = new ArrayList<>(texts.size());
    long size = 0;
    for (String text : texts) {
      byte[] element = text.getBytes(StandardCharsets.UTF_8);
      elements.add(element);
      size += Integer.BYTES + element.length;
    }
    if (size > MOST_ARRAY_BYTES) {
      throw new IllegalArgumentException(
          "elements have %d bytes with their lengths, and an array holds %d"
              .formatted(size, MOST_ARRAY_BYTES));
    }
    MemorySegment data = MemorySegment.ofArray(new byte[(int) size]);
    long at = 0;
    for (byte[] element : elements) {
      data.set(LENGTH, at, element.length);
      MemorySegment.copy(
          element, 0, data, ValueLayout.JAVA_BYTE, at + Integer.BYTES, element.length);
      at += Integer.BYTES + element.length;
    }
    return data;
  }

  /** Elements as texts, from UTF-8; of data that was checked. */
  public static List<String> strings(MemorySegment data) {
    List<String> texts = new ArrayList<>();
    long at = 0;
    while (at < data.byteSize()) {
      long length = Integer.toUnsignedLong(data.get(LENGTH, at));
      byte[] element = data.asSlice(at + Integer.BYTES, length).toArray(ValueLayout.JAVA_BYTE);
      texts.add(new String(element, StandardCharsets.UTF_8));
      at += Integer.BYTES + length;
    }
    return texts;
  }

  private static IllegalArgumentException wrongCount(long expected, long found, Object of) {
    return new IllegalArgumentException(
        "expected %d string elements for %s, got %d".formatted(expected, of, found));
  }
}

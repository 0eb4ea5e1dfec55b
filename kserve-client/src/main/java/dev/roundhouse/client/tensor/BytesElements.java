package dev.roundhouse.client.tensor;

import dev.roundhouse.bundle.tensor.Shape;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/** Elements of BYTES: before each its length, in four bytes. */
final class BytesElements {
  private static final ValueLayout.OfInt LENGTH = ValueLayout.JAVA_INT_UNALIGNED;

  private BytesElements() {}

  static MemorySegment encode(List<byte[]> elements) {
    long size = 0;
    for (byte[] element : elements) {
      size += Integer.BYTES + element.length;
    }
    if (size > Integer.MAX_VALUE - 8) {
      throw new IllegalArgumentException(
          "elements have %d bytes with their lengths, and an array holds %d; send fewer"
              .formatted(size, Integer.MAX_VALUE - 8));
    }
    MemorySegment bytes = MemorySegment.ofArray(new byte[(int) size]);
    long at = 0;
    for (byte[] element : elements) {
      bytes.set(LENGTH, at, element.length);
      MemorySegment.copy(
          element, 0, bytes, ValueLayout.JAVA_BYTE, at + Integer.BYTES, element.length);
      at += Integer.BYTES + element.length;
    }
    return bytes;
  }

  /**
   * @throws IllegalArgumentException unless there are exactly so many whole elements
   */
  static void check(MemorySegment bytes, long elements, Shape shape) {
    long at = 0;
    long found = 0;
    while (at < bytes.byteSize()) {
      if (bytes.byteSize() - at < Integer.BYTES) {
        throw broken(shape, found, "its length has 4 bytes and %d are left", bytes.byteSize() - at);
      }
      long length = Integer.toUnsignedLong(bytes.get(LENGTH, at));
      at += Integer.BYTES;
      if (length > bytes.byteSize() - at) {
        throw broken(
            shape, found, "it has %d bytes and %d are left", length, bytes.byteSize() - at);
      }
      at += length;
      found++;
    }
    if (found != elements) {
      throw new IllegalArgumentException(
          "BYTES%s has %d elements, and there are %d".formatted(shape, elements, found));
    }
  }

  private static IllegalArgumentException broken(
      Shape shape, long element, String format, Object... values) {
    return new IllegalArgumentException(
        "element %d of BYTES%s is not whole: %s"
            .formatted(element, shape, format.formatted(values)));
  }

  /** Of bytes that have been checked. */
  static List<byte[]> decode(MemorySegment bytes) {
    List<byte[]> elements = new ArrayList<>();
    long at = 0;
    while (at < bytes.byteSize()) {
      long length = Integer.toUnsignedLong(bytes.get(LENGTH, at));
      at += Integer.BYTES;
      elements.add(bytes.asSlice(at, length).toArray(ValueLayout.JAVA_BYTE));
      at += length;
    }
    return elements;
  }
}

package dev.roundhouse.kserve.codec;

import dev.roundhouse.kserve.status.WireException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * BYTES tensors in raw form: for each element a 4-byte little-endian unsigned length, then that
 * many bytes.
 */
final class BytesElements {
  /** Largest array a JVM makes. */
  private static final int MAX_ARRAY_BYTES = Integer.MAX_VALUE - 8;

  private BytesElements() {}

  /** Checks that {@code raw} holds exactly {@code elementCount} whole elements. */
  static void check(ByteBuffer raw, long elementCount, InputPlace place) {
    ByteBuffer rest = raw.duplicate().order(ByteOrder.LITTLE_ENDIAN);
    long found = 0;
    while (rest.hasRemaining()) {
      if (found == elementCount) {
        throw WireException.invalidArgument(
            "unexpected number of string elements "
                + (found + 1)
                + " for inference input "
                + place
                + ", expecting "
                + elementCount);
      }
      if (rest.remaining() < Integer.BYTES) {
        throw WireException.invalidArgument(
            "incomplete string length indicator for inference input "
                + place
                + ", expecting 4 bytes but only "
                + rest.remaining()
                + " bytes available");
      }
      long length = Integer.toUnsignedLong(rest.getInt());
      if (length > rest.remaining()) {
        throw WireException.invalidArgument(
            "incomplete string data for inference input "
                + place
                + ", expecting string of length "
                + length
                + " but only "
                + rest.remaining()
                + " bytes available");
      }
      rest.position(rest.position() + (int) length);
      found++;
    }
    requireCount(found, elementCount, place);
  }

  /**
   * @param byteSize of all elements with their lengths
   */
  static void requireSize(long byteSize, InputPlace place) {
    if (byteSize > MAX_ARRAY_BYTES) {
      throw WireException.invalidArgument(
          "input "
              + place
              + " has "
              + byteSize
              + " bytes with lengths, the limit is "
              + MAX_ARRAY_BYTES
              + "; send fewer elements per request");
    }
  }

  static void requireCount(long found, long expected, InputPlace place) {
    if (found != expected) {
      throw WireException.invalidArgument(
          "expected "
              + expected
              + " string elements for inference input "
              + place
              + ", got "
              + found);
    }
  }
}

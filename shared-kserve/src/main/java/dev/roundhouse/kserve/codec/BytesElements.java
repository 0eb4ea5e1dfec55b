package dev.roundhouse.kserve.codec;

import com.google.protobuf.ByteString;
import dev.roundhouse.kserve.status.WireException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

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

  static ByteBuffer toRaw(List<ByteString> elements, long elementCount, InputPlace place) {
    requireCount(elements.size(), elementCount, place);
    long byteSize = (long) elements.size() * Integer.BYTES;
    for (ByteString element : elements) {
      byteSize += element.size();
    }
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
    ByteBuffer raw = ByteBuffer.allocate((int) byteSize).order(ByteOrder.LITTLE_ENDIAN);
    for (ByteString element : elements) {
      raw.putInt(element.size());
      element.copyTo(raw);
    }
    return raw.flip();
  }

  private static void requireCount(long found, long expected, InputPlace place) {
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

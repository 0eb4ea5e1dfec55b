package dev.roundhouse.kserve.codec;

import dev.roundhouse.bundle.tensor.BytesLayout;
import dev.roundhouse.kserve.status.WireException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/** BYTES tensors in raw form, as {@link BytesLayout} says. */
final class BytesElements {
  /** Largest array a JVM makes. */
  private static final int MAX_ARRAY_BYTES = Integer.MAX_VALUE - 8;

  private BytesElements() {}

  /** Checks that {@code raw} holds exactly {@code elementCount} whole elements. */
  static void check(ByteBuffer raw, long elementCount, InputPlace place) {
    try {
      BytesLayout.check(MemorySegment.ofBuffer(raw), elementCount, "inference input " + place);
    } catch (IllegalArgumentException e) {
      throw WireException.invalidArgument(String.valueOf(e.getMessage()));
    }
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

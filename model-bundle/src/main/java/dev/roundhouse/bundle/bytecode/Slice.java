package dev.roundhouse.bundle.bytecode;

import java.util.Arrays;

/** A range of shared bytes: constants may be hundreds of megabytes and are not copied. */
record Slice(byte[] bytes, int offset, int length) {

  static Slice of(byte[] bytes) {
    return new Slice(bytes, 0, bytes.length);
  }

  ByteCursor cursor() {
    return new ByteCursor(bytes, offset, offset + length);
  }

  boolean hasBytesOf(Slice other) {
    return Arrays.equals(
        bytes, offset, offset + length, other.bytes, other.offset, other.offset + other.length);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Slice slice && hasBytesOf(slice);
  }

  @Override
  public int hashCode() {
    int hash = 1;
    for (int i = offset; i < offset + length; i++) {
      hash = 31 * hash + bytes[i];
    }
    return hash;
  }
}

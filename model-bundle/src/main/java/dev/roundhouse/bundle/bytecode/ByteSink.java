package dev.roundhouse.bundle.bytecode;

import java.io.ByteArrayOutputStream;

/** Writes what {@link ByteCursor} reads. */
public final class ByteSink {
  private final ByteArrayOutputStream out = new ByteArrayOutputStream();

  int size() {
    return out.size();
  }

  void put(int value) {
    out.write(value);
  }

  void put(Slice slice) {
    out.write(slice.bytes(), slice.offset(), slice.length());
  }

  /** A variable-length integer in its shortest form; not negative, below 2^56. */
  public ByteSink varInt(long value) {
    int following = 0;
    while (following < 7 && value >>> (7 * (following + 1)) != 0) {
      following++;
    }
    if (value < 0 || value >>> (7 * (following + 1)) != 0) {
      throw new IllegalArgumentException("value must be 0 to below 2^56, got " + value);
    }
    long encoded = (value << 1 | 1) << following;
    for (int i = 0; i <= following; i++) {
      out.write((int) (encoded >>> (8 * i)));
    }
    return this;
  }

  public byte[] bytes() {
    return out.toByteArray();
  }
}

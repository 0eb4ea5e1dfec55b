package dev.roundhouse.bundle.bytecode;

import java.nio.charset.StandardCharsets;

/** Reads a range of bytes from front to back; borrows them. */
public final class ByteCursor {
  private final byte[] bytes;
  private final int end;
  private int position;

  ByteCursor(byte[] bytes, int start, int end) {
    this.bytes = bytes;
    this.position = start;
    this.end = end;
  }

  public boolean hasMore() {
    return position < end;
  }

  int position() {
    return position;
  }

  int next() {
    if (position >= end) {
      throw malformed("ends too early");
    }
    return bytes[position++] & 0xFF;
  }

  /**
   * MLIR's PrefixVarInt: the number of trailing zero bits of the first byte says how many bytes
   * follow it.
   */
  public long varInt() {
    int first = next();
    int following = first == 0 ? 8 : Integer.numberOfTrailingZeros(first);
    long rest = 0;
    for (int i = 0; i < following; i++) {
      rest |= (long) next() << (8 * i);
    }
    return first == 0 ? rest : rest << (7 - following) | first >>> (following + 1);
  }

  /** A variable-length integer that is a count or an index: 0 to below 2^31. */
  public int count() {
    long value = varInt();
    if (value < 0 || value > Integer.MAX_VALUE) {
      throw malformed("has a count of " + Long.toUnsignedString(value));
    }
    return (int) value;
  }

  /** As {@link #count}, of things that take a byte each or more: no more than there are bytes. */
  int countWithin() {
    int value = count();
    if (value > end - position) {
      throw malformed("has a count of " + value + " in " + (end - position) + " bytes");
    }
    return value;
  }

  /** An index below a limit. */
  int index(int limit, String what) {
    int value = count();
    if (value >= limit) {
      throw malformed("refers to " + what + " " + value + " of " + limit);
    }
    return value;
  }

  /** The next bytes as a separate range. */
  Slice slice(int length) {
    if (length < 0 || length > end - position) {
      throw malformed("has " + length + " bytes announced, " + (end - position) + " left");
    }
    position += length;
    return new Slice(bytes, position - length, length);
  }

  /** Text up to a NUL byte, which is passed over. */
  String terminatedText() {
    int start = position;
    while (next() != 0) {}
    return new String(bytes, start, position - 1 - start, StandardCharsets.UTF_8);
  }

  /** Nothing may be left over. */
  public void expectEnd() {
    if (hasMore()) {
      throw malformed("has " + (end - position) + " bytes too many");
    }
  }

  MalformedBytecodeException malformed(String problem) {
    return new MalformedBytecodeException("bytecode " + problem + " at byte " + position);
  }
}

package dev.roundhouse.pjrt;

import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import java.nio.charset.StandardCharsets;
import java.util.function.LongConsumer;

/**
 * Walks one protobuf message field by field: {@code while (next()) switch (field()) ...}. Fields
 * not taken are skipped. A malformed message is an INTERNAL {@link DeviceException}.
 */
final class ProtoReader {
  private static final int VARINT = 0;
  private static final int FIXED64 = 1;
  private static final int LENGTH_DELIMITED = 2;
  private static final int FIXED32 = 5;

  private final byte[] bytes;
  private final int end;
  private int position;
  private int field;
  private int wireType;
  private boolean taken = true;

  ProtoReader(byte[] bytes) {
    this(bytes, 0, bytes.length);
  }

  private ProtoReader(byte[] bytes, int position, int end) {
    this.bytes = bytes;
    this.position = position;
    this.end = end;
  }

  /** Moves to the next field; false at the message's end. */
  boolean next() {
    if (!taken) {
      skip();
    }
    if (position == end) {
      return false;
    }
    long tag = raw();
    field = (int) (tag >>> 3);
    wireType = (int) (tag & 7);
    taken = false;
    return true;
  }

  int field() {
    return field;
  }

  long varint() {
    expect(VARINT);
    return raw();
  }

  ProtoReader message() {
    int length = length();
    ProtoReader message = new ProtoReader(bytes, position, position + length);
    position += length;
    return message;
  }

  String string() {
    int length = length();
    String value = new String(bytes, position, length, StandardCharsets.UTF_8);
    position += length;
    return value;
  }

  /** Every element of a repeated integer field, packed or not. */
  void varints(LongConsumer each) {
    if (wireType == VARINT) {
      each.accept(varint());
      return;
    }
    int length = length();
    int stop = position + length;
    while (position < stop) {
      each.accept(raw());
    }
  }

  private int length() {
    expect(LENGTH_DELIMITED);
    long length = raw();
    if (length < 0 || length > end - position) {
      throw malformed();
    }
    return (int) length;
  }

  private void expect(int type) {
    if (wireType != type || taken) {
      throw malformed();
    }
    taken = true;
  }

  private void skip() {
    switch (wireType) {
      case VARINT -> raw();
      case FIXED64 -> position += Long.BYTES;
      case LENGTH_DELIMITED -> {
        int length = length();
        position += length;
      }
      case FIXED32 -> position += Integer.BYTES;
      default -> throw malformed();
    }
    taken = true;
    if (position > end) {
      throw malformed();
    }
  }

  private long raw() {
    long value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (position >= end) {
        throw malformed();
      }
      byte next = bytes[position++];
      value |= (long) (next & 0x7F) << shift;
      if (next >= 0) {
        return value;
      }
    }
    throw malformed();
  }

  private DeviceException malformed() {
    return new DeviceException(
        Code.INTERNAL, "malformed protobuf from the plugin near byte " + position);
  }
}

package dev.roundhouse.pjrt;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/**
 * Writes the few protobuf fields that the C API takes as bytes; a protobuf runtime for two dozen
 * bytes would be the module's largest dependency.
 */
final class ProtoWriter {
  private static final int VARINT = 0;
  private static final int FIXED64 = 1;
  private static final int LENGTH_DELIMITED = 2;

  private final ByteArrayOutputStream out = new ByteArrayOutputStream();

  ProtoWriter varint(int field, long value) {
    raw((long) field << 3 | VARINT);
    raw(value);
    return this;
  }

  ProtoWriter float64(int field, double value) {
    raw((long) field << 3 | FIXED64);
    long bits = Double.doubleToRawLongBits(value);
    for (int shift = 0; shift < Long.SIZE; shift += Byte.SIZE) {
      out.write((int) (bits >>> shift));
    }
    return this;
  }

  ProtoWriter string(int field, String value) {
    return delimited(field, value.getBytes(StandardCharsets.UTF_8));
  }

  ProtoWriter message(int field, ProtoWriter value) {
    return delimited(field, value.bytes());
  }

  ProtoWriter packed(int field, long... values) {
    ProtoWriter elements = new ProtoWriter();
    for (long value : values) {
      elements.raw(value);
    }
    return delimited(field, elements.bytes());
  }

  byte[] bytes() {
    return out.toByteArray();
  }

  private ProtoWriter delimited(int field, byte[] value) {
    raw((long) field << 3 | LENGTH_DELIMITED);
    raw(value.length);
    out.writeBytes(value);
    return this;
  }

  private void raw(long value) {
    long rest = value;
    while ((rest & ~0x7FL) != 0) {
      out.write((int) (rest & 0x7F | 0x80));
      rest >>>= 7;
    }
    out.write((int) rest);
  }
}

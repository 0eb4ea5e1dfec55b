package dev.roundhouse.kserve.codec;

import com.google.protobuf.WireFormat;

/** The number that begins a field: which one, and in what form it comes. */
final class WireTag {
  private static final int TYPE_BITS = 3;

  private WireTag() {}

  /** Texts, bytes, messages and packed elements. */
  static int bytes(int field) {
    return tag(field, WireFormat.WIRETYPE_LENGTH_DELIMITED);
  }

  static int varint(int field) {
    return tag(field, WireFormat.WIRETYPE_VARINT);
  }

  static int fixed32(int field) {
    return tag(field, WireFormat.WIRETYPE_FIXED32);
  }

  static int fixed64(int field) {
    return tag(field, WireFormat.WIRETYPE_FIXED64);
  }

  private static int tag(int field, int type) {
    return field << TYPE_BITS | type;
  }
}

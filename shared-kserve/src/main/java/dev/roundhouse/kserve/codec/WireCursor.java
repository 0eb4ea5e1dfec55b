package dev.roundhouse.kserve.codec;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import com.google.protobuf.WireFormat;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * Reads protobuf's wire format where it lies, and accepts what protobuf's own parser accepts. Makes
 * nothing but the texts that it is asked for. For one thread.
 */
final class WireCursor {
  /** Protobuf's own limit for messages and groups within each other. */
  private static final int DEPTH = 100;

  private final ByteBuffer in;
  private int at;
  private int end;
  private int depth;

  WireCursor(ByteBuffer message) {
    in = message.duplicate().order(ByteOrder.LITTLE_ENDIAN);
    at = in.position();
    end = in.limit();
  }

  /** Where the next byte is. */
  int position() {
    return at;
  }

  boolean hasMore() {
    return at < end;
  }

  /** The tag of the next field of the message that is read; 0 at its end. */
  int tag() throws MalformedMessageException {
    if (at == end) {
      return 0;
    }
    int tag = varint32();
    if (WireFormat.getTagFieldNumber(tag) == 0) {
      throw new MalformedMessageException("a field has the number 0");
    }
    return tag;
  }

  /** Leaves the rest of the bits out, as protobuf does. */
  int varint32() throws MalformedMessageException {
    return (int) varint64();
  }

  long varint64() throws MalformedMessageException {
    long value = 0;
    for (int shift = 0; shift < Long.SIZE; shift += 7) {
      require(1);
      byte next = in.get(at++);
      value |= (long) (next & 0x7F) << shift;
      if (next >= 0) {
        return value;
      }
    }
    throw new MalformedMessageException("a number has more than ten bytes");
  }

  int fixed32() throws MalformedMessageException {
    require(Integer.BYTES);
    int value = in.getInt(at);
    at += Integer.BYTES;
    return value;
  }

  long fixed64() throws MalformedMessageException {
    require(Long.BYTES);
    long value = in.getLong(at);
    at += Long.BYTES;
    return value;
  }

  /** The length of what follows, all of which is there. */
  int length() throws MalformedMessageException {
    int length = varint32();
    if (length < 0) {
      throw new MalformedMessageException("a field has the length " + length);
    }
    require(length);
    return length;
  }

  /** Bytes as they lie in the message, read-only. */
  ByteBuffer bytes() throws MalformedMessageException {
    int length = length();
    ByteBuffer bytes = in.slice(at, length).asReadOnlyBuffer();
    at += length;
    return bytes;
  }

  /**
   * A text that is likely to recur.
   *
   * @param what it is, for the refusal
   */
  String name(String what, NameCache names) throws MalformedMessageException {
    int length = length(what, MessageLimits.NAME_BYTES);
    String known = names.find(in, at, length);
    if (known != null) {
      at += length;
      return known;
    }
    byte[] utf8 = copy(length);
    String name = decoded(what, utf8);
    names.keep(utf8, name);
    return name;
  }

  /**
   * @param what it is, for the refusal
   * @param limit in bytes
   */
  String text(String what, int limit) throws MalformedMessageException {
    return decoded(what, copy(length(what, limit)));
  }

  private int length(String what, int limit) throws MalformedMessageException {
    int length = length();
    if (length > limit) {
      throw MessageLimits.exceeded(what, length + " bytes", limit);
    }
    return length;
  }

  private byte[] copy(int length) {
    byte[] bytes = new byte[length];
    in.get(at, bytes);
    at += length;
    return bytes;
  }

  private static String decoded(String what, byte[] utf8) throws MalformedMessageException {
    for (byte each : utf8) {
      if (each < 0) {
        return decodedBeyondAscii(what, utf8);
      }
    }
    return new String(utf8, StandardCharsets.ISO_8859_1);
  }

  private static String decodedBeyondAscii(String what, byte[] bytes)
      throws MalformedMessageException {
    ByteString utf8 = UnsafeByteOperations.unsafeWrap(bytes);
    if (!utf8.isValidUtf8()) {
      throw new MalformedMessageException(what + " is not valid UTF-8");
    }
    return utf8.toStringUtf8();
  }

  /**
   * Enters a message or packed elements within this one: until {@link #leave} they are all there
   * is.
   *
   * @return for {@link #leave}
   */
  int enter() throws MalformedMessageException {
    if (depth >= DEPTH) {
      throw new MalformedMessageException("messages lie more than " + DEPTH + " deep");
    }
    depth++;
    int length = length();
    int outer = end;
    end = at + length;
    return outer;
  }

  void leave(int outer) {
    depth--;
    end = outer;
  }

  /** Skips an unknown field, whose tag has been read. */
  void skip(int tag) throws MalformedMessageException {
    switch (WireFormat.getTagWireType(tag)) {
      case WireFormat.WIRETYPE_VARINT -> varint64();
      case WireFormat.WIRETYPE_FIXED64 -> fixed64();
      case WireFormat.WIRETYPE_LENGTH_DELIMITED -> {
        int length = length();
        at += length;
      }
      case WireFormat.WIRETYPE_START_GROUP -> skipGroup(WireFormat.getTagFieldNumber(tag));
      case WireFormat.WIRETYPE_FIXED32 -> fixed32();
      case WireFormat.WIRETYPE_END_GROUP ->
          throw new MalformedMessageException("a group ends that had not begun");
      default ->
          throw new MalformedMessageException(
              "a field has the unknown wire type " + WireFormat.getTagWireType(tag));
    }
  }

  private void skipGroup(int field) throws MalformedMessageException {
    if (depth >= DEPTH) {
      throw new MalformedMessageException("groups lie more than " + DEPTH + " deep");
    }
    depth++;
    int last = field << 3 | WireFormat.WIRETYPE_END_GROUP;
    for (int tag = tag(); tag != last; tag = tag()) {
      if (tag == 0) {
        throw new MalformedMessageException("a group does not end");
      }
      skip(tag);
    }
    depth--;
  }

  private void require(int bytes) throws MalformedMessageException {
    if (bytes > end - at) {
      throw new MalformedMessageException("it ends in the middle of a field");
    }
  }
}

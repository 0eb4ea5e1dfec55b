package dev.roundhouse.kserve.codec;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.UnsafeByteOperations;
import dev.roundhouse.kserve.status.WireException;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;

/**
 * Fields of a message as they come, each held against its limit before anything is made of it.
 * Fields that nobody knows are skipped, never kept. For one thread.
 */
final class MessageInput {
  /** Up to here one array holds the message, tensors share it, and no text in it is too long. */
  private static final int WHOLE_BYTES = MessageLimits.NAME_BYTES;

  private final CodedInputStream in;
  private final boolean whole;
  private int parameters;
  private long typedBytes;

  private MessageInput(CodedInputStream in, boolean whole) {
    this.in = in;
    this.whole = whole;
    in.setSizeLimit(Integer.MAX_VALUE);
  }

  /**
   * @param length of the message in bytes, negative when it is not known
   */
  static MessageInput of(InputStream stream, int length) throws IOException {
    if (length < 0 || length > WHOLE_BYTES) {
      return new MessageInput(CodedInputStream.newInstance(stream), false);
    }
    byte[] message = stream.readNBytes(length);
    if (message.length < length) {
      throw new EOFException("the message has " + message.length + " bytes instead of " + length);
    }
    CodedInputStream in = UnsafeByteOperations.unsafeWrap(message).newCodedInput();
    in.enableAliasing(true);
    return new MessageInput(in, true);
  }

  CodedInputStream coded() {
    return in;
  }

  /** Reads the fields of the message itself, to its end. */
  void fields(FieldReader reader) throws IOException {
    for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
      if (!reader.read(tag) && !in.skipField(tag)) {
        throw new InvalidProtocolBufferException(
            "Protocol message contained an end of a group that had not begun.");
      }
    }
  }

  /** Reads the fields of a message within this one. */
  void nested(FieldReader reader) throws IOException {
    int outer = in.pushLimit(in.readRawVarint32());
    fields(reader);
    requireWhole();
    in.popLimit(outer);
  }

  /** Reads the elements of a packed field. */
  void packed(ElementReader reader) throws IOException {
    int outer = in.pushLimit(in.readRawVarint32());
    while (in.getBytesUntilLimit() > 0) {
      reader.read();
    }
    requireWhole();
    in.popLimit(outer);
  }

  private void requireWhole() throws IOException {
    if (in.getBytesUntilLimit() != 0) {
      throw new InvalidProtocolBufferException(
          "Protocol message ended in the middle of a field; it is truncated.");
    }
  }

  /** A text of a few words: a name, an id. */
  String name(String what) throws IOException {
    return text(what, MessageLimits.NAME_BYTES);
  }

  /**
   * @param what it is, for the refusal
   * @param limit in bytes
   */
  String text(String what, int limit) throws IOException {
    if (whole) {
      return in.readStringRequireUtf8();
    }
    int length = in.readRawVarint32();
    if (length > limit) {
      throw exceeded(what, length + " bytes", limit);
    }
    ByteString utf8 = UnsafeByteOperations.unsafeWrap(in.readRawBytes(length));
    if (!utf8.isValidUtf8()) {
      throw new InvalidProtocolBufferException(what + " is not valid UTF-8.");
    }
    return utf8.toStringUtf8();
  }

  /** Bytes that are kept; they are copied once at most. */
  ByteString bytes() throws IOException {
    return whole
        ? in.readBytes()
        : UnsafeByteOperations.unsafeWrap(in.readRawBytes(in.readRawVarint32()));
  }

  /** Call for each parameter, wherever it is. */
  void countParameter() {
    if (++parameters > MessageLimits.PARAMETERS) {
      throw exceeded(
          "the request with its tensors", parameters + " parameters", MessageLimits.PARAMETERS);
    }
  }

  /**
   * Call for each typed element after it is read.
   *
   * @param heapBytes what it takes in memory
   */
  void countTyped(int heapBytes) {
    typedBytes += heapBytes;
    if (typedBytes <= MessageLimits.TYPED_GROWTH_BYTES) {
      return;
    }
    long limit = in.getTotalBytesRead() + MessageLimits.TYPED_GROWTH_BYTES;
    if (typedBytes > limit) {
      throw WireException.invalidArgument(
          "typed contents take "
              + typedBytes
              + " bytes in memory after "
              + in.getTotalBytesRead()
              + " bytes of the message, the limit is "
              + limit
              + "; send large tensors in raw_input_contents");
    }
  }

  static WireException exceeded(String what, String value, long limit) {
    return WireException.invalidArgument(
        what + " has " + value + ", the limit is " + limit + " in one request");
  }

  /** Reads the field that begins with a tag. */
  @FunctionalInterface
  interface FieldReader {
    /** Returns false, and has read nothing, when the field is not known. */
    boolean read(int tag) throws IOException;
  }

  /** Reads one element. */
  @FunctionalInterface
  interface ElementReader {
    void read() throws IOException;
  }
}

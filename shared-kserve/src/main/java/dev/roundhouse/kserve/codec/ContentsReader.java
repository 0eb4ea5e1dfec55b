package dev.roundhouse.kserve.codec;

import static dev.roundhouse.kserve.codec.WireTag.bytes;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.WireFormat;
import dev.roundhouse.kserve.proto.InferTensorContents;
import java.io.IOException;

/** Reads typed elements, packed or one by one, and counts what they take in memory. */
final class ContentsReader {
  /** A reference, the object that it names, the head of its array. */
  private static final int BYTES_OBJECT = 56;

  private final MessageInput in;
  private final InferTensorContents.Builder contents;

  private ContentsReader(MessageInput in, InferTensorContents.Builder contents) {
    this.in = in;
    this.contents = contents;
  }

  /** Reads one message of contents into {@code contents}, after what is there already. */
  static void read(MessageInput in, InferTensorContents.Builder contents) throws IOException {
    in.nested(new ContentsReader(in, contents)::field);
  }

  private boolean field(int tag) throws IOException {
    int field = WireFormat.getTagFieldNumber(tag);
    if (field < InferTensorContents.BOOL_CONTENTS_FIELD_NUMBER
        || field > InferTensorContents.BYTES_CONTENTS_FIELD_NUMBER) {
      return false;
    }
    if (tag == single(field)) {
      element(field);
    } else if (tag == bytes(field)) {
      in.packed(() -> element(field));
    } else {
      return false;
    }
    return true;
  }

  /** The tag of a field whose elements come one by one. */
  private static int single(int field) {
    return switch (field) {
      case InferTensorContents.BYTES_CONTENTS_FIELD_NUMBER -> bytes(field);
      case InferTensorContents.FP32_CONTENTS_FIELD_NUMBER -> WireTag.fixed32(field);
      case InferTensorContents.FP64_CONTENTS_FIELD_NUMBER -> WireTag.fixed64(field);
      default -> WireTag.varint(field);
    };
  }

  private void element(int field) throws IOException {
    CodedInputStream coded = in.coded();
    int heapBytes =
        switch (field) {
          case InferTensorContents.BOOL_CONTENTS_FIELD_NUMBER -> {
            contents.addBoolContents(coded.readBool());
            yield Byte.BYTES;
          }
          case InferTensorContents.INT_CONTENTS_FIELD_NUMBER -> {
            contents.addIntContents(coded.readInt32());
            yield Integer.BYTES;
          }
          case InferTensorContents.INT64_CONTENTS_FIELD_NUMBER -> {
            contents.addInt64Contents(coded.readInt64());
            yield Long.BYTES;
          }
          case InferTensorContents.UINT_CONTENTS_FIELD_NUMBER -> {
            contents.addUintContents(coded.readUInt32());
            yield Integer.BYTES;
          }
          case InferTensorContents.UINT64_CONTENTS_FIELD_NUMBER -> {
            contents.addUint64Contents(coded.readUInt64());
            yield Long.BYTES;
          }
          case InferTensorContents.FP32_CONTENTS_FIELD_NUMBER -> {
            contents.addFp32Contents(coded.readFloat());
            yield Float.BYTES;
          }
          case InferTensorContents.FP64_CONTENTS_FIELD_NUMBER -> {
            contents.addFp64Contents(coded.readDouble());
            yield Double.BYTES;
          }
          default -> {
            ByteString element = in.bytes();
            contents.addBytesContents(element);
            yield BYTES_OBJECT + element.size();
          }
        };
    in.countTyped(heapBytes);
  }
}

package dev.roundhouse.worker.transport.v1;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.DiscardUnknownFieldsParser;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Parser;
import com.google.protobuf.WireFormat;
import dev.roundhouse.kserve.codec.MessageLimits;
import dev.roundhouse.kserve.codec.MessageMemory;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.kserve.v1.proto.InferRequest;
import dev.roundhouse.kserve.v1.proto.InferRequestHeader;
import dev.roundhouse.transport.http2.ReceivedMessage;
import dev.roundhouse.worker.transport.grpc.PooledMemory;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * An {@code InferRequest} as it was read, under limits: protobuf's own parser makes objects of
 * everything that a message names before any limit can be checked.
 *
 * @param rawInput entries, read-only; where they were received, not copied
 * @param memory of the entries
 */
record GrpcRequest(AskedModel asked, List<ByteBuffer> rawInput, MessageMemory memory) {
  /** Of all but the tensors' bytes, as of any message that has none. */
  static final int MOST_HEADER_BYTES = 1 << 20;

  private static final Parser<InferRequestHeader> HEADER =
      DiscardUnknownFieldsParser.wrap(InferRequestHeader.parser());

  private static final int MODEL_NAME = bytes(InferRequest.MODEL_NAME_FIELD_NUMBER);
  private static final int MODEL_VERSION =
      InferRequest.MODEL_VERSION_FIELD_NUMBER << 3 | WireFormat.WIRETYPE_VARINT;
  private static final int META_DATA = bytes(InferRequest.META_DATA_FIELD_NUMBER);
  private static final int RAW_INPUT = bytes(InferRequest.RAW_INPUT_FIELD_NUMBER);

  private static int bytes(int field) {
    return field << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED;
  }

  /** The inputs' bytes, to be taken in order. */
  RawInputs inputs() {
    return new MessageInputs(rawInput, memory, asked.header().getInputCount());
  }

  /**
   * @throws WireException when the message has more than it may
   * @throws IOException when the bytes are no message
   */
  static GrpcRequest read(InputStream stream) throws IOException {
    return stream instanceof ReceivedMessage received
        ? read(received.bytes(), PooledMemory.of(received))
        : read(ByteBuffer.wrap(stream.readAllBytes()), MessageMemory.COLLECTED); // uncompressed
  }

  private static GrpcRequest read(ByteBuffer bytes, MessageMemory memory) throws IOException {
    ByteBuffer message = bytes.slice();
    CodedInputStream in = CodedInputStream.newInstance(message.duplicate());
    String name = "";
    long version = 0;
    ByteString header = ByteString.EMPTY;
    List<ByteBuffer> raw = new ArrayList<>(2);
    for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
      if (tag == MODEL_NAME) {
        name = name(in.readBytes());
      } else if (tag == MODEL_VERSION) {
        version = in.readInt64();
      } else if (tag == META_DATA) {
        header = header.concat(in.readBytes()); // parts of one message, as protobuf has it
        requireHeaderSize(header.size());
      } else if (tag == RAW_INPUT) {
        int length = in.readRawVarint32();
        int at = in.getTotalBytesRead();
        in.skipRawBytes(length); // refuses a length beyond the message
        raw.add(message.slice(at, length).asReadOnlyBuffer());
        requireRawCount(raw.size());
      } else if (!in.skipField(tag)) {
        throw new InvalidProtocolBufferException("a group ends that has not begun");
      }
    }
    return new GrpcRequest(new AskedModel(name, version, HEADER.parseFrom(header)), raw, memory);
  }

  private static String name(ByteString bytes) throws InvalidProtocolBufferException {
    if (bytes.size() > MessageLimits.NAME_BYTES) {
      throw MessageLimits.tooLong("model_name", bytes.size());
    }
    if (!bytes.isValidUtf8()) {
      throw new InvalidProtocolBufferException("model_name is no UTF-8");
    }
    return bytes.toStringUtf8();
  }

  private static void requireHeaderSize(int size) {
    if (size > MOST_HEADER_BYTES) {
      throw new WireException(
          WireStatus.RESOURCE_EXHAUSTED,
          "meta_data has %d bytes, the limit is %d".formatted(size, MOST_HEADER_BYTES));
    }
  }

  private static void requireRawCount(int count) {
    if (count > MessageLimits.RAW_CONTENTS) {
      throw MessageLimits.exceeded(
          "the request", "more entries in raw_input", MessageLimits.RAW_CONTENTS);
    }
  }
}

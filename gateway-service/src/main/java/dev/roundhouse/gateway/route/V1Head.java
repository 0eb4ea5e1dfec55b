package dev.roundhouse.gateway.route;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.WireFormat;
import dev.roundhouse.kserve.codec.MessageLimits;
import dev.roundhouse.kserve.v1.proto.InferRequest;
import dev.roundhouse.kserve.v1.proto.InferRequestHeader;
import io.grpc.Status;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * The beginning of an InferRequest of v1, as far as routing needs it. Payloads follow it and are
 * not read. Errors in a message are left to the worker.
 */
public final class V1Head {
  /** The version that answers. */
  private static final long SERVED = -1;

  private String model = "";
  private long version = SERVED;
  private long sequence;
  private int rows = 1;
  private boolean isEnough;

  private V1Head() {}

  /** What the header of a request says, which over HTTP has no model in it. */
  public static RequestHead of(String model, String version, InferRequestHeader header) {
    return new RequestHead(
        model, version, sequence(header.getCorrelationId()), rows(header.getBatchSize()));
  }

  private static String sequence(long id) {
    return id == 0 ? "" : Long.toUnsignedString(id);
  }

  private static int rows(int batchSize) {
    return (int) Math.clamp(Integer.toUnsignedLong(batchSize), 1, Integer.MAX_VALUE);
  }

  /**
   * As {@link RequestHead#read}.
   *
   * @throws io.grpc.StatusRuntimeException when the model's name is longer than names may be
   */
  static @Nullable RequestHead read(ByteBuffer begin, boolean more) {
    V1Head head = new V1Head();
    try {
      CodedInputStream in = CodedInputStream.newInstance(begin);
      in.pushLimit(begin.remaining());
      head.read(in);
    } catch (IOException e) {
      // what was read until then counts
    }
    if (more && !head.isEnough) {
      return null;
    }
    String text = head.version == SERVED ? "" : Long.toString(head.version);
    return new RequestHead(head.model, text, sequence(head.sequence), head.rows);
  }

  /** Reads until payloads begin. */
  private void read(CodedInputStream in) throws IOException {
    for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
      switch (WireFormat.getTagFieldNumber(tag)) {
        case InferRequest.MODEL_NAME_FIELD_NUMBER -> readModel(in);
        case InferRequest.MODEL_VERSION_FIELD_NUMBER -> version = in.readInt64();
        case InferRequest.META_DATA_FIELD_NUMBER -> {
          readHeader(in);
          isEnough |= !model.isEmpty(); // every client writes it behind the name
        }
        case InferRequest.RAW_INPUT_FIELD_NUMBER -> {
          isEnough = true;
          return;
        }
        default -> in.skipField(tag);
      }
    }
  }

  private void readModel(CodedInputStream in) throws IOException {
    int length = in.readRawVarint32();
    if (length > MessageLimits.NAME_BYTES) {
      throw Status.INVALID_ARGUMENT
          .withDescription(MessageLimits.tooLong("model_name", length).text())
          .asRuntimeException();
    }
    model = new String(in.readRawBytes(length), StandardCharsets.UTF_8);
  }

  private void readHeader(CodedInputStream in) throws IOException {
    int outer = in.pushLimit(in.readRawVarint32());
    for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
      switch (WireFormat.getTagFieldNumber(tag)) {
        case InferRequestHeader.BATCH_SIZE_FIELD_NUMBER -> rows = rows(in.readUInt32());
        case InferRequestHeader.CORRELATION_ID_FIELD_NUMBER -> sequence = in.readUInt64();
        default -> in.skipField(tag);
      }
    }
    in.popLimit(outer);
  }
}

package dev.roundhouse.gateway.route;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.WireFormat;
import dev.roundhouse.kserve.codec.MessageLimits;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferRequestedOutputTensor;
import io.grpc.Status;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * The beginning of a ModelInfer request, as far as routing needs it. Payloads follow it and are not
 * read. Errors in a message are left to the worker.
 *
 * @param model empty when the message has none
 * @param version empty for the newest
 * @param sequence the sequence that the request belongs to, as text; empty for none
 * @param rows the first extent of the first input; 1 when it has none
 */
public record RequestHead(String model, String version, String sequence, int rows) {
  /** A parameter of an output that is written to shared memory. */
  public static final String REGION = "shared_memory_region";

  private static final String SEQUENCE_ID = "sequence_id";
  private static final int KEY = 1;
  private static final int VALUE = 2;

  /**
   * @param begin of a message; not moved
   * @param more whether more of the message could be shown
   * @return null when more of it is needed
   * @throws io.grpc.StatusRuntimeException when the model's name or version is longer than names
   *     may be
   */
  public static @Nullable RequestHead read(ByteBuffer begin, boolean more) {
    Reader reader = new Reader();
    try {
      CodedInputStream in = CodedInputStream.newInstance(begin);
      in.pushLimit(begin.remaining());
      reader.read(in);
    } catch (IOException e) {
      // What was read until then counts.
    }
    if (more && !reader.isEnough()) {
      return null;
    }
    return new RequestHead(reader.model, reader.version, reader.sequence, reader.rows);
  }

  /**
   * Whether a request may run twice: not when it has an output in shared memory, which both workers
   * would write, nor when it belongs to a sequence, whose state it changes.
   *
   * @param message the whole ModelInfer request
   * @return false also when it cannot be read
   */
  static boolean mayRunTwice(InputStream message) {
    Reader reader = new Reader();
    CodedInputStream in = CodedInputStream.newInstance(message);
    in.setSizeLimit(Integer.MAX_VALUE);
    try {
      for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
        switch (WireFormat.getTagFieldNumber(tag)) {
          case ModelInferRequest.PARAMETERS_FIELD_NUMBER -> reader.readParameter(in);
          case ModelInferRequest.OUTPUTS_FIELD_NUMBER -> {
            if (InferRequestedOutputTensor.parseFrom(in.readByteArray())
                .containsParameters(REGION)) {
              return false;
            }
          }
          default -> in.skipField(tag);
        }
      }
    } catch (IOException e) {
      return false;
    }
    return reader.sequence.isEmpty();
  }

  private static final class Reader {
    private String model = "";
    private String version = "";
    private String sequence = "";
    private int rows = 1;
    private boolean hasShape;
    private boolean hasPayload;

    /** What precedes the inputs has been read too: every client writes it first. */
    boolean isEnough() {
      return hasPayload || (!model.isEmpty() && hasShape);
    }

    /** Reads until payloads begin. */
    void read(CodedInputStream in) throws IOException {
      for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
        switch (WireFormat.getTagFieldNumber(tag)) {
          case ModelInferRequest.MODEL_NAME_FIELD_NUMBER -> model = readName("model_name", in);
          case ModelInferRequest.MODEL_VERSION_FIELD_NUMBER ->
              version = readName("model_version", in);
          case ModelInferRequest.PARAMETERS_FIELD_NUMBER -> readParameter(in);
          case ModelInferRequest.INPUTS_FIELD_NUMBER -> {
            if (hasShape) {
              in.skipField(tag);
            } else {
              readInput(in);
            }
          }
          case ModelInferRequest.RAW_INPUT_CONTENTS_FIELD_NUMBER -> {
            hasPayload = true;
            return;
          }
          default -> in.skipField(tag);
        }
      }
    }

    /** A name above the limit is not waited for. */
    private static String readName(String what, CodedInputStream in) throws IOException {
      int length = in.readRawVarint32();
      if (length > MessageLimits.NAME_BYTES) {
        throw Status.INVALID_ARGUMENT
            .withDescription(MessageLimits.tooLong(what, length).text())
            .asRuntimeException();
      }
      return new String(in.readRawBytes(length), StandardCharsets.UTF_8);
    }

    private void readParameter(CodedInputStream in) throws IOException {
      int end = in.readRawVarint32();
      int outer = in.pushLimit(end);
      String key = "";
      String value = "";
      for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
        switch (WireFormat.getTagFieldNumber(tag)) {
          case KEY -> key = in.readString();
          case VALUE -> value = readValue(in);
          default -> in.skipField(tag);
        }
      }
      in.popLimit(outer);
      if (key.equals(SEQUENCE_ID)) {
        sequence = value.equals("0") ? "" : value;
      }
    }

    private static String readValue(CodedInputStream in) throws IOException {
      int outer = in.pushLimit(in.readRawVarint32());
      String value = "";
      for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
        switch (WireFormat.getTagFieldNumber(tag)) {
          case InferParameter.INT64_PARAM_FIELD_NUMBER, InferParameter.UINT64_PARAM_FIELD_NUMBER ->
              value = Long.toUnsignedString(in.readUInt64());
          case InferParameter.STRING_PARAM_FIELD_NUMBER -> value = in.readString();
          default -> in.skipField(tag);
        }
      }
      in.popLimit(outer);
      return value;
    }

    private void readInput(CodedInputStream in) throws IOException {
      int length = in.readRawVarint32();
      boolean whole = length <= in.getBytesUntilLimit();
      int outer = in.pushLimit(whole ? length : in.getBytesUntilLimit());
      for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
        if (WireFormat.getTagFieldNumber(tag) != InferInputTensor.SHAPE_FIELD_NUMBER || hasShape) {
          in.skipField(tag);
        } else if (WireFormat.getTagWireType(tag) == WireFormat.WIRETYPE_LENGTH_DELIMITED) {
          int shape = in.pushLimit(in.readRawVarint32());
          if (in.getBytesUntilLimit() > 0) {
            noteExtent(in.readInt64());
          }
          in.skipRawBytes(in.getBytesUntilLimit());
          in.popLimit(shape);
        } else {
          noteExtent(in.readInt64());
        }
      }
      in.popLimit(outer);
      hasShape |= whole; // a tensor without axes is one item
    }

    private void noteExtent(long extent) {
      hasShape = true;
      rows = (int) Math.clamp(extent, 1, Integer.MAX_VALUE);
    }
  }
}

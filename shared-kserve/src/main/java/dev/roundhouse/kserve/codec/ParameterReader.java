package dev.roundhouse.kserve.codec;

import static dev.roundhouse.kserve.codec.WireTag.bytes;
import static dev.roundhouse.kserve.codec.WireTag.fixed64;
import static dev.roundhouse.kserve.codec.WireTag.varint;

import dev.roundhouse.kserve.proto.InferParameter;
import java.io.IOException;
import java.util.function.BiConsumer;

/** Reads one entry of a map of parameters. */
final class ParameterReader {
  private static final int KEY = bytes(1);
  private static final int VALUE = bytes(2);
  private static final int BOOL = varint(InferParameter.BOOL_PARAM_FIELD_NUMBER);
  private static final int INT64 = varint(InferParameter.INT64_PARAM_FIELD_NUMBER);
  private static final int STRING = bytes(InferParameter.STRING_PARAM_FIELD_NUMBER);
  private static final int DOUBLE = fixed64(InferParameter.DOUBLE_PARAM_FIELD_NUMBER);
  private static final int UINT64 = varint(InferParameter.UINT64_PARAM_FIELD_NUMBER);

  private final MessageInput in;
  private final InferParameter.Builder value = InferParameter.newBuilder();
  private String key = "";

  private ParameterReader(MessageInput in) {
    this.in = in;
  }

  static void read(MessageInput in, BiConsumer<String, InferParameter> parameters)
      throws IOException {
    in.countParameter();
    ParameterReader reader = new ParameterReader(in);
    in.nested(reader::field);
    parameters.accept(reader.key, reader.value.build());
  }

  private boolean field(int tag) throws IOException {
    if (tag == KEY) {
      key = in.name("the name of a parameter");
    } else if (tag == VALUE) {
      in.nested(this::value);
    } else {
      return false;
    }
    return true;
  }

  private boolean value(int tag) throws IOException {
    if (tag == BOOL) {
      value.setBoolParam(in.coded().readBool());
    } else if (tag == INT64) {
      value.setInt64Param(in.coded().readInt64());
    } else if (tag == STRING) {
      value.setStringParam(in.text("the text of a parameter", MessageLimits.TEXT_BYTES));
    } else if (tag == DOUBLE) {
      value.setDoubleParam(in.coded().readDouble());
    } else if (tag == UINT64) {
      value.setUint64Param(in.coded().readUInt64());
    } else {
      return false;
    }
    return true;
  }
}

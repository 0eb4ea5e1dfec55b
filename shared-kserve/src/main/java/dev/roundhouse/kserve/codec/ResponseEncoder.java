package dev.roundhouse.kserve.codec;

import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.WireFormat;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import dev.roundhouse.kserve.proto.ModelInferResponse.InferOutputTensor;
import dev.roundhouse.kserve.proto.ModelStreamInferResponse;
import dev.roundhouse.kserve.status.WireException;
import java.io.IOException;
import java.util.List;
import java.util.Map;

/**
 * Encodes answers to ModelInfer and ModelStreamInfer, always in raw form: stock clients read typed
 * contents of BYTES only. There is a raw entry for every output, because clients find them by
 * place. Payloads are not copied.
 */
public final class ResponseEncoder {
  /** Names and shapes need a little room too. */
  private static final long MOST_PAYLOAD_BYTES = Integer.MAX_VALUE - (1L << 20);

  private ResponseEncoder() {}

  /**
   * A ModelInferResponse.
   *
   * @throws WireException INVALID_ARGUMENT when it would be larger than a message can be
   */
  public static EncodedMessage encode(ResponseMessage response) {
    return new Writing(response).encode("", false);
  }

  /**
   * A ModelStreamInferResponse.
   *
   * @param error empty for none
   * @throws WireException INVALID_ARGUMENT when it would be larger than a message can be
   */
  public static EncodedMessage encodeStreamed(String error, ResponseMessage response) {
    return new Writing(response).encode(error, true);
  }

  /** Measures a message, then writes it, into memory of exactly its size. */
  private static final class Writing {
    private final ResponseMessage response;
    private final List<ResponseTensor> outputs;
    private final int[] outputBytes;
    private final long payloadBytes;

    Writing(ResponseMessage response) {
      this.response = response;
      outputs = response.outputs();
      outputBytes = new int[outputs.size()];
      payloadBytes = requireFits();
    }

    EncodedMessage encode(String error, boolean streamed) {
      int responseOwn = responseBytes();
      int responseAll = Math.toIntExact(responseOwn + payloadBytes);
      int before = streamed ? streamedBytes(error, responseAll) : 0;
      byte[] own = new byte[before + responseOwn];
      int[] places = new int[outputs.size()];
      CodedOutputStream out = CodedOutputStream.newInstance(own);
      try {
        if (streamed) {
          if (!error.isEmpty()) {
            out.writeString(ModelStreamInferResponse.ERROR_MESSAGE_FIELD_NUMBER, error);
          }
          writeLength(out, ModelStreamInferResponse.INFER_RESPONSE_FIELD_NUMBER, responseAll);
        }
        write(out, places);
        out.checkNoSpaceLeft();
      } catch (IOException e) {
        throw new IllegalStateException("a message was measured wrong", e);
      }
      return new EncodedMessage(own, places, outputs, before + responseAll);
    }

    private static int streamedBytes(String error, int responseBytes) {
      int errorBytes =
          error.isEmpty()
              ? 0
              : CodedOutputStream.computeStringSize(
                  ModelStreamInferResponse.ERROR_MESSAGE_FIELD_NUMBER, error);
      return errorBytes
          + lengthBytes(ModelStreamInferResponse.INFER_RESPONSE_FIELD_NUMBER, responseBytes);
    }

    /** Of the response without its payloads. */
    private int responseBytes() {
      int size =
          textBytes(ModelInferResponse.MODEL_NAME_FIELD_NUMBER, response.modelName())
              + textBytes(ModelInferResponse.MODEL_VERSION_FIELD_NUMBER, response.modelVersion())
              + textBytes(ModelInferResponse.ID_FIELD_NUMBER, response.id());
      size += parametersBytes(ModelInferResponse.PARAMETERS_FIELD_NUMBER, response.parameters());
      for (int i = 0; i < outputs.size(); i++) {
        outputBytes[i] = outputBytes(outputs.get(i));
        size +=
            lengthBytes(ModelInferResponse.OUTPUTS_FIELD_NUMBER, outputBytes[i])
                + outputBytes[i]
                + lengthBytes(
                    ModelInferResponse.RAW_OUTPUT_CONTENTS_FIELD_NUMBER,
                    outputs.get(i).data().remaining());
      }
      return size;
    }

    private void write(CodedOutputStream out, int[] places) throws IOException {
      writeText(out, ModelInferResponse.MODEL_NAME_FIELD_NUMBER, response.modelName());
      writeText(out, ModelInferResponse.MODEL_VERSION_FIELD_NUMBER, response.modelVersion());
      writeText(out, ModelInferResponse.ID_FIELD_NUMBER, response.id());
      writeParameters(out, ModelInferResponse.PARAMETERS_FIELD_NUMBER, response.parameters());
      for (int i = 0; i < outputs.size(); i++) {
        writeLength(out, ModelInferResponse.OUTPUTS_FIELD_NUMBER, outputBytes[i]);
        writeOutput(out, outputs.get(i));
      }
      for (int i = 0; i < outputs.size(); i++) {
        writeLength(
            out,
            ModelInferResponse.RAW_OUTPUT_CONTENTS_FIELD_NUMBER,
            outputs.get(i).data().remaining());
        places[i] = out.getTotalBytesWritten();
      }
    }

    private static int outputBytes(ResponseTensor output) {
      int shape = shapeBytes(output.shape());
      return parametersBytes(InferOutputTensor.PARAMETERS_FIELD_NUMBER, output.parameters())
          + textBytes(InferOutputTensor.NAME_FIELD_NUMBER, output.name())
          + textBytes(InferOutputTensor.DATATYPE_FIELD_NUMBER, output.dtype().wireName())
          + (shape == 0 ? 0 : lengthBytes(InferOutputTensor.SHAPE_FIELD_NUMBER, shape) + shape);
    }

    private static void writeOutput(CodedOutputStream out, ResponseTensor output)
        throws IOException {
      writeText(out, InferOutputTensor.NAME_FIELD_NUMBER, output.name());
      writeText(out, InferOutputTensor.DATATYPE_FIELD_NUMBER, output.dtype().wireName());
      Shape shape = output.shape();
      int bytes = shapeBytes(shape);
      if (bytes > 0) {
        writeLength(out, InferOutputTensor.SHAPE_FIELD_NUMBER, bytes);
        for (int axis = 0; axis < shape.rank(); axis++) {
          out.writeInt64NoTag(shape.dim(axis));
        }
      }
      writeParameters(out, InferOutputTensor.PARAMETERS_FIELD_NUMBER, output.parameters());
    }

    private static int shapeBytes(Shape shape) {
      int size = 0;
      for (int axis = 0; axis < shape.rank(); axis++) {
        size += CodedOutputStream.computeInt64SizeNoTag(shape.dim(axis));
      }
      return size;
    }

    private long requireFits() {
      long byteSize = 0;
      for (int i = 0; i < outputs.size(); i++) {
        byteSize += outputs.get(i).data().remaining();
      }
      if (byteSize > MOST_PAYLOAD_BYTES) {
        throw WireException.invalidArgument(
            "response of model '"
                + response.modelName()
                + "' has "
                + byteSize
                + " bytes of output, a message holds "
                + MOST_PAYLOAD_BYTES
                + "; request fewer rows or name fewer outputs");
      }
      return byteSize;
    }
  }

  private static int parametersBytes(int field, Map<String, ParameterValue> parameters) {
    int size = 0;
    for (Map.Entry<String, ParameterValue> parameter : parameters.entrySet()) {
      int entry = parameterBytes(parameter);
      size += lengthBytes(field, entry) + entry;
    }
    return size;
  }

  private static void writeParameters(
      CodedOutputStream out, int field, Map<String, ParameterValue> parameters) throws IOException {
    for (Map.Entry<String, ParameterValue> parameter : parameters.entrySet()) {
      writeLength(out, field, parameterBytes(parameter));
      writeParameter(out, parameter);
    }
  }

  /** An entry of a map is a message of its key, 1, and its value, 2. */
  private static int parameterBytes(Map.Entry<String, ParameterValue> parameter) {
    int value = valueBytes(parameter.getValue());
    return CodedOutputStream.computeStringSize(1, parameter.getKey())
        + lengthBytes(2, value)
        + value;
  }

  private static void writeParameter(
      CodedOutputStream out, Map.Entry<String, ParameterValue> parameter) throws IOException {
    out.writeString(1, parameter.getKey());
    ParameterValue value = parameter.getValue();
    writeLength(out, 2, valueBytes(value));
    switch (value) {
      case ParameterValue.Flag(boolean flag) ->
          out.writeBool(InferParameter.BOOL_PARAM_FIELD_NUMBER, flag);
      case ParameterValue.Signed(long number) ->
          out.writeInt64(InferParameter.INT64_PARAM_FIELD_NUMBER, number);
      case ParameterValue.Unsigned(long number) ->
          out.writeUInt64(InferParameter.UINT64_PARAM_FIELD_NUMBER, number);
      case ParameterValue.Real(double number) ->
          out.writeDouble(InferParameter.DOUBLE_PARAM_FIELD_NUMBER, number);
      case ParameterValue.Text(String text) ->
          out.writeString(InferParameter.STRING_PARAM_FIELD_NUMBER, text);
      case ParameterValue.Unset unset -> {}
    }
  }

  private static int valueBytes(ParameterValue value) {
    return switch (value) {
      case ParameterValue.Flag(boolean flag) ->
          CodedOutputStream.computeBoolSize(InferParameter.BOOL_PARAM_FIELD_NUMBER, flag);
      case ParameterValue.Signed(long number) ->
          CodedOutputStream.computeInt64Size(InferParameter.INT64_PARAM_FIELD_NUMBER, number);
      case ParameterValue.Unsigned(long number) ->
          CodedOutputStream.computeUInt64Size(InferParameter.UINT64_PARAM_FIELD_NUMBER, number);
      case ParameterValue.Real(double number) ->
          CodedOutputStream.computeDoubleSize(InferParameter.DOUBLE_PARAM_FIELD_NUMBER, number);
      case ParameterValue.Text(String text) ->
          CodedOutputStream.computeStringSize(InferParameter.STRING_PARAM_FIELD_NUMBER, text);
      case ParameterValue.Unset unset -> 0;
    };
  }

  /** Of a text as proto3 has it: nothing when it is empty. */
  private static int textBytes(int field, String text) {
    return text.isEmpty() ? 0 : CodedOutputStream.computeStringSize(field, text);
  }

  private static void writeText(CodedOutputStream out, int field, String text) throws IOException {
    if (!text.isEmpty()) {
      out.writeString(field, text);
    }
  }

  /** Of a tag and the length after it. */
  private static int lengthBytes(int field, int length) {
    return CodedOutputStream.computeTagSize(field)
        + CodedOutputStream.computeUInt32SizeNoTag(length);
  }

  private static void writeLength(CodedOutputStream out, int field, int length) throws IOException {
    out.writeTag(field, WireFormat.WIRETYPE_LENGTH_DELIMITED);
    out.writeUInt32NoTag(length);
  }
}

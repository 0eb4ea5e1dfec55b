package dev.roundhouse.kserve.codec;

import com.google.protobuf.ByteString;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.InferTensorContents;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferRequestedOutputTensor;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Messages that were read, as protobuf would have them, to be compared with what it reads. */
final class Written {
  private Written() {}

  static ModelInferRequest of(ReadMessage message) throws IOException {
    ModelInferRequest.Builder request =
        ModelInferRequest.newBuilder()
            .setModelName(message.modelName())
            .setModelVersion(message.modelVersion())
            .setId(message.id());
    message.parameters().forEach((name, value) -> request.putParameters(name, parameter(value)));
    for (TensorHeader header : message.inputs()) {
      InferInputTensor.Builder input =
          InferInputTensor.newBuilder().setName(header.name()).setDatatype(header.datatype());
      for (long extent : header.dims()) {
        input.addShape(extent);
      }
      header.parameters().forEach((name, value) -> input.putParameters(name, parameter(value)));
      switch (header.source()) {
        case TensorSource.Raw(var data) -> request.addRawInputContents(ByteString.copyFrom(data));
        case TensorSource.Typed(TypedElements elements) -> input.setContents(contents(elements));
        case TensorSource.None none -> {}
        case TensorSource.TypedBesideRaw contradiction -> {}
      }
      request.addInputs(input);
    }
    for (OutputHeader header : message.outputs()) {
      InferRequestedOutputTensor.Builder output =
          InferRequestedOutputTensor.newBuilder().setName(header.name());
      for (Map.Entry<String, ParameterValue> each : header.parameters().entrySet()) {
        output.putParameters(each.getKey(), parameter(each.getValue()));
      }
      request.addOutputs(output);
    }
    return request.build();
  }

  /**
   * The request, less what is not kept of it: of typed elements of an input in more than one field,
   * all but how many there are; of raw contents beside typed ones, all.
   */
  static ModelInferRequest kept(ModelInferRequest request) {
    ModelInferRequest.Builder kept = request.toBuilder();
    keepRaw(kept);
    for (InferInputTensor.Builder input : kept.getInputsBuilderList()) {
      InferTensorContents contents = input.getContents();
      if (contents.getAllFields().size() > 1) {
        InferTensorContents.Builder counts = InferTensorContents.newBuilder();
        for (ContentsField field : ContentsField.values()) {
          zeros(counts, field, count(contents, field));
        }
        input.setContents(counts);
      }
    }
    return kept.build();
  }

  /** Raw contents go to inputs that have nothing of their own, in order; the rest is not kept. */
  private static void keepRaw(ModelInferRequest.Builder kept) {
    List<ByteString> raw = kept.getRawInputContentsList();
    if (raw.isEmpty()) {
      return;
    }
    List<ByteString> taken = new ArrayList<>();
    int next = 0;
    for (InferInputTensor.Builder input : kept.getInputsBuilderList()) {
      boolean takes = next < raw.size() && !input.containsParameters("shared_memory_region");
      if (takes && !input.hasContents()) {
        taken.add(raw.get(next));
      }
      next += takes ? 1 : 0;
      input.clearContents();
    }
    kept.clearRawInputContents().addAllRawInputContents(taken);
  }

  private static InferTensorContents contents(TypedElements elements) throws IOException {
    InferTensorContents.Builder contents = InferTensorContents.newBuilder();
    int fields = 0;
    for (ContentsField field : ContentsField.values()) {
      fields += elements.count(field) > 0 ? 1 : 0;
    }
    for (ContentsField field : ContentsField.values()) {
      int count = elements.count(field);
      if (fields > 1) {
        zeros(contents, field, count);
      } else if (count > 0) {
        elements.forEach(in -> add(contents, field, in));
        if (count(contents.build(), field) != count) {
          throw new AssertionError(field + " has other elements than were counted");
        }
      }
    }
    return contents.build();
  }

  private static void add(InferTensorContents.Builder contents, ContentsField field, WireCursor in)
      throws MalformedMessageException {
    switch (field) {
      case BOOL -> contents.addBoolContents(in.varint64() != 0);
      case INT -> contents.addIntContents(in.varint32());
      case INT64 -> contents.addInt64Contents(in.varint64());
      case UINT -> contents.addUintContents(in.varint32());
      case UINT64 -> contents.addUint64Contents(in.varint64());
      case FP32 -> contents.addFp32Contents(Float.intBitsToFloat(in.fixed32()));
      case FP64 -> contents.addFp64Contents(Double.longBitsToDouble(in.fixed64()));
      case BYTES -> contents.addBytesContents(ByteString.copyFrom(in.bytes()));
    }
  }

  private static void zeros(InferTensorContents.Builder contents, ContentsField field, int count) {
    for (int i = 0; i < count; i++) {
      switch (field) {
        case BOOL -> contents.addBoolContents(false);
        case INT -> contents.addIntContents(0);
        case INT64 -> contents.addInt64Contents(0);
        case UINT -> contents.addUintContents(0);
        case UINT64 -> contents.addUint64Contents(0);
        case FP32 -> contents.addFp32Contents(0);
        case FP64 -> contents.addFp64Contents(0);
        case BYTES -> contents.addBytesContents(ByteString.EMPTY);
      }
    }
  }

  private static int count(InferTensorContents contents, ContentsField field) {
    return switch (field) {
      case BOOL -> contents.getBoolContentsCount();
      case INT -> contents.getIntContentsCount();
      case INT64 -> contents.getInt64ContentsCount();
      case UINT -> contents.getUintContentsCount();
      case UINT64 -> contents.getUint64ContentsCount();
      case FP32 -> contents.getFp32ContentsCount();
      case FP64 -> contents.getFp64ContentsCount();
      case BYTES -> contents.getBytesContentsCount();
    };
  }

  static InferParameter parameter(ParameterValue value) {
    InferParameter.Builder parameter = InferParameter.newBuilder();
    switch (value) {
      case ParameterValue.Flag(boolean flag) -> parameter.setBoolParam(flag);
      case ParameterValue.Signed(long number) -> parameter.setInt64Param(number);
      case ParameterValue.Unsigned(long number) -> parameter.setUint64Param(number);
      case ParameterValue.Real(double number) -> parameter.setDoubleParam(number);
      case ParameterValue.Text(String text) -> parameter.setStringParam(text);
      case ParameterValue.Unset unset -> {}
    }
    return parameter.build();
  }
}

package dev.roundhouse.kserve.codec;

import com.google.protobuf.ByteString;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.InferTensorContents;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferRequestedOutputTensor;
import java.util.List;

/** Requests that have a bit of everything. */
final class SampleRequests {
  private SampleRequests() {}

  /** An input for each field of typed contents, and one that has elements in two. */
  static ModelInferRequest.Builder typed() {
    ModelInferRequest.Builder request = named();
    for (InferTensorContents.Builder contents :
        List.of(
            contents().addBoolContents(true).addBoolContents(false),
            contents().addIntContents(-5).addIntContents(300),
            contents().addInt64Contents(Long.MIN_VALUE),
            contents().addUintContents(-1),
            contents().addUint64Contents(1L << 40),
            contents().addFp32Contents(0.5f).addFp32Contents(Float.NaN),
            contents().addFp64Contents(-0.25),
            contents()
                .addBytesContents(ByteString.copyFromUtf8("abc"))
                .addBytesContents(ByteString.EMPTY),
            contents().addFp32Contents(1).addBoolContents(true),
            contents())) {
      request.addInputs(input().setContents(contents));
    }
    return request;
  }

  static ModelInferRequest.Builder raw() {
    return named()
        .addInputs(input().putParameters("p", InferParameter.getDefaultInstance()))
        .addInputs(input().setName("Y"))
        .addRawInputContents(ByteString.copyFromUtf8("raw contents"))
        .addRawInputContents(ByteString.EMPTY);
  }

  /** One that makes sense, and has a template. */
  static ModelInferRequest.Builder sound() {
    return ModelInferRequest.newBuilder()
        .setModelName("identity_fp32")
        .setId("17")
        .putParameters("priority", InferParameter.newBuilder().setInt64Param(2).build())
        .addInputs(input().clearShape().addShape(1).addShape(3))
        .addInputs(input().setName("Y").setDatatype("UINT8").clearShape().addShape(5))
        .addOutputs(InferRequestedOutputTensor.newBuilder().setName("Z"))
        .addRawInputContents(ByteString.copyFromUtf8("twelve bytes"))
        .addRawInputContents(ByteString.copyFromUtf8("five "));
  }

  /** One that makes sense, of strings. */
  static ModelInferRequest.Builder rawStrings() {
    return ModelInferRequest.newBuilder()
        .setModelName("text")
        .setId("18")
        .addInputs(input().setDatatype("BYTES").clearShape().addShape(3).addShape(1))
        .addInputs(input().setName("Y").setDatatype("BYTES").clearShape().addShape(0))
        .addRawInputContents(ByteString.fromHex("010000006100000000020000006262"))
        .addRawInputContents(ByteString.EMPTY);
  }

  /** The same, each string by itself. */
  static ModelInferRequest.Builder typedStrings() {
    return ModelInferRequest.newBuilder()
        .setModelName("text")
        .addInputs(
            input()
                .setDatatype("BYTES")
                .clearShape()
                .addShape(3)
                .setContents(
                    contents()
                        .addBytesContents(ByteString.copyFromUtf8("a"))
                        .addBytesContents(ByteString.EMPTY)
                        .addBytesContents(ByteString.copyFromUtf8("bb"))));
  }

  static InferTensorContents.Builder contents() {
    return InferTensorContents.newBuilder();
  }

  static ModelInferRequest.Builder named() {
    return ModelInferRequest.newBuilder()
        .setModelName("modèle")
        .setModelVersion("3")
        .setId("id")
        .putParameters("b", InferParameter.newBuilder().setBoolParam(true).build())
        .putParameters("i", InferParameter.newBuilder().setInt64Param(-7).build())
        .putParameters("s", InferParameter.newBuilder().setStringParam("text").build())
        .putParameters("d", InferParameter.newBuilder().setDoubleParam(1.25).build())
        .putParameters("u", InferParameter.newBuilder().setUint64Param(1L << 50).build())
        .addOutputs(
            InferRequestedOutputTensor.newBuilder()
                .setName("Z")
                .putParameters("q", InferParameter.newBuilder().setBoolParam(false).build()));
  }

  static InferInputTensor.Builder input() {
    return InferInputTensor.newBuilder().setName("X").setDatatype("FP32").addShape(1).addShape(300);
  }
}

package dev.roundhouse.kserve.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.params.provider.Arguments.argumentSet;

import com.google.protobuf.ByteString;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.InferTensorContents;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferRequestedOutputTensor;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Every way a message can be wrong in itself, with the status and the words of the answer. */
class HostileRequestTest {

  static Stream<Arguments> refused() {
    return Stream.of(
        refusal("no model name", ModelInferRequest.newBuilder(), "Model name cannot be empty"),
        refusal(
            "version in words",
            request().setModelVersion("latest"),
            "failed to get model version from specified version string 'latest'"),
        refusal("version 0", request().setModelVersion("0"), "specified version string '0'"),
        refusal("version -1", request().setModelVersion("-1"), "specified version string '-1'"),
        refusal(
            "version beyond 64 bits",
            request().setModelVersion("9223372036854775808"),
            "specified version string"),
        refusal(
            "unknown datatype",
            request().addInputs(input("FP31", 1)).addRawInputContents(bytes(4)),
            "invalid datatype 'FP31' for input 'X' for model 'm'"),
        refusal(
            "datatype that never leaves the device",
            request().addInputs(input("f8_e5m2", 1)).addRawInputContents(bytes(1)),
            "invalid datatype 'f8_e5m2'"),
        refusal(
            "negative extent",
            request().addInputs(input("FP32", 2, -1)).addRawInputContents(bytes(8)),
            "shape of input 'X' for model 'm' has extent -1 on axis 1"),
        refusal(
            "most negative extent",
            request().addInputs(input("FP32", Long.MIN_VALUE)).addRawInputContents(bytes(8)),
            "has extent -9223372036854775808"),
        refusal(
            "elements beyond 64 bits",
            request().addInputs(input("INT8", 1L << 32, 1L << 32)).addRawInputContents(bytes(0)),
            "shape [4294967296,4294967296] of input 'X'"),
        refusal(
            "elements that are none in 64 bits",
            request().addInputs(input("INT8", 1L << 32, 1L << 31, 2)).addRawInputContents(bytes(0)),
            "shape [4294967296,2147483648,2] of input 'X'"),
        refusal(
            "elements beyond 31 bits",
            request().addInputs(input("INT8", 1L << 16, 1L << 15)).addRawInputContents(bytes(0)),
            "Expected 2147483648, got 0"),
        refusal(
            "elements that are few in 32 bits",
            request().addInputs(input("INT8", 1L << 16, 1L << 16)).addRawInputContents(bytes(0)),
            "Expected 4294967296, got 0"),
        refusal(
            "bytes that are few in 32 bits",
            request().addInputs(input("FP32", 1L << 30)).addRawInputContents(bytes(0)),
            "Expected 4294967296, got 0"),
        refusal(
            "bytes that are none in 64 bits",
            request().addInputs(input("FP64", 1L << 61)).addRawInputContents(bytes(0)),
            "of 2305843009213693952 elements of input 'X'"),
        refusal(
            "strings beyond 31 bits",
            request().addInputs(input("BYTES", 1L << 31)).addRawInputContents(bytes(0)),
            "expected 2147483648 string elements"),
        refusal(
            "bytes beyond 64 bits",
            request().addInputs(input("FP64", Long.MAX_VALUE)).addRawInputContents(bytes(0)),
            "of 9223372036854775807 elements of input 'X'"),
        refusal(
            "raw too short",
            request().addInputs(input("FP32", 2)).addRawInputContents(bytes(7)),
            "input byte size mismatch for input 'X' for model 'm'. Expected 8, got 7"),
        refusal(
            "raw too long",
            request().addInputs(input("FP32", 2)).addRawInputContents(bytes(9)),
            "Expected 8, got 9"),
        refusal(
            "bytes for a tensor of none",
            request().addInputs(input("FP32", 0, 3)).addRawInputContents(bytes(4)),
            "Expected 0, got 4"),
        refusal(
            "raw and typed at once",
            request()
                .addInputs(input("FP32", 1).setContents(floats(1)))
                .addRawInputContents(bytes(4)),
            "contents field must not be specified when using raw_input_contents for 'X' for model"
                + " 'm'"),
        refusal(
            "neither raw nor typed",
            request().addInputs(input("FP32", 1)),
            "unable to find data for input tensor 'X' for model 'm' in request."),
        refusal(
            "fewer raw entries than inputs",
            request()
                .addInputs(input("FP32", 1))
                .addInputs(input("FP32", 1).setName("Y"))
                .addRawInputContents(bytes(4)),
            "unable to find data for input tensor 'Y' for model 'm' in request."),
        refusal(
            "input twice",
            request()
                .addInputs(input("FP32", 1))
                .addInputs(input("FP32", 1))
                .addRawInputContents(bytes(4))
                .addRawInputContents(bytes(4)),
            "input 'X' for model 'm' already exists in request"),
        refusal(
            "output twice",
            request().addOutputs(output("Y")).addOutputs(output("Y")),
            "output 'Y' for model 'm' already exists in request"),
        refusal(
            "typed elements in another field",
            request().addInputs(input("INT32", 1).setContents(floats(1))),
            "unexpected explicit tensor data for input tensor 'X' for model 'm': INT32 elements"
                + " belong in int_contents, but fp32_contents is set"),
        refusal(
            "typed elements in two fields",
            request().addInputs(input("FP32", 1).setContents(floats(1).addIntContents(1))),
            "FP32 elements belong in fp32_contents, but int_contents is set"),
        refusal(
            "typed FP16",
            request().addInputs(input("FP16", 1).setContents(floats(1))),
            "FP16 has no contents field; send it in raw_input_contents"),
        refusal(
            "typed BF16",
            request().addInputs(input("BF16", 1).setContents(floats(1))),
            "BF16 has no contents field; send it in raw_input_contents"),
        refusal(
            "too few typed elements",
            request().addInputs(input("FP32", 3).setContents(floats(1, 2))),
            "input byte size mismatch for input 'X' for model 'm'. Expected 12, got 8"),
        refusal(
            "too many typed elements",
            request().addInputs(input("FP32", 1).setContents(floats(1, 2))),
            "Expected 4, got 8"),
        refusal(
            "INT8 out of range",
            request().addInputs(input("INT8", 2).setContents(ints(-128, 128))),
            "element 1 of input 'X' for model 'm' is 128, but INT8 holds -128 to 127"),
        refusal(
            "INT16 out of range",
            request().addInputs(input("INT16", 1).setContents(ints(-32769))),
            "is -32769, but INT16 holds -32768 to 32767"),
        refusal(
            "UINT8 out of range",
            request().addInputs(input("UINT8", 1).setContents(uints(256))),
            "is 256, but UINT8 holds 0 to 255"),
        refusal(
            "UINT16 out of range",
            request().addInputs(input("UINT16", 1).setContents(uints(-1))),
            "is 4294967295, but UINT16 holds 0 to 65535"),
        refusal(
            "BYTES with half a length",
            request().addInputs(input("BYTES", 1)).addRawInputContents(bytes(3)),
            "incomplete string length indicator for inference input 'X' for model 'm', expecting 4"
                + " bytes but only 3 bytes available"),
        refusal(
            "BYTES shorter than its length",
            request()
                .addInputs(input("BYTES", 1))
                .addRawInputContents(ByteString.fromHex("0500000061626364")),
            "expecting string of length 5 but only 4 bytes available"),
        refusal(
            "BYTES with a length of 4 GiB",
            request()
                .addInputs(input("BYTES", 1))
                .addRawInputContents(ByteString.fromHex("ffffffff61")),
            "expecting string of length 4294967295 but only 1 bytes available"),
        refusal(
            "BYTES with an element too many",
            request().addInputs(input("BYTES", 1)).addRawInputContents(bytes(8)),
            "unexpected number of string elements 2 for inference input 'X' for model 'm',"
                + " expecting 1"),
        refusal(
            "BYTES with an element missing",
            request().addInputs(input("BYTES", 2)).addRawInputContents(bytes(4)),
            "expected 2 string elements for inference input 'X' for model 'm', got 1"),
        refusal(
            "typed BYTES with an element missing",
            request().addInputs(input("BYTES", 2).setContents(strings("a"))),
            "expected 2 string elements for inference input 'X' for model 'm', got 1"),
        refusal(
            "timeout as text",
            request()
                .putParameters(
                    "reactant_timeout_ns", InferParameter.newBuilder().setStringParam("1").build()),
            "invalid value type for 'reactant_timeout_ns' parameter, expected int64_param but got"
                + " string_param"),
        refusal(
            "sequence_id as a flag",
            request()
                .putParameters(
                    "sequence_id", InferParameter.newBuilder().setBoolParam(true).build()),
            "invalid value type for 'sequence_id' parameter, expected int64_param or string_param"
                + " but got bool_param"),
        refusal(
            "sequence_start as a number",
            request()
                .putParameters(
                    "sequence_start", InferParameter.newBuilder().setInt64Param(1).build()),
            "invalid value type for 'sequence_start' parameter, expected bool_param but got"
                + " int64_param"),
        refusal(
            "sequence_end without an id",
            request()
                .putParameters("sequence_id", InferParameter.newBuilder().setInt64Param(0).build())
                .putParameters(
                    "sequence_end", InferParameter.newBuilder().setBoolParam(true).build()),
            "parameter 'sequence_end' needs a 'sequence_id' that is not 0 and not empty"),
        refusal(
            "reserved parameter",
            request()
                .putParameters("triton_x", InferParameter.newBuilder().setBoolParam(true).build()),
            "parameter 'triton_x' is reserved for Triton usage"),
        refusal(
            "shared memory without a size",
            request().addInputs(shared("r", null, null)),
            "'shared_memory_byte_size' must be specified along with 'shared_memory_region' parameter"
                + " for tensor 'X'"),
        refusal(
            "shared memory that does not fit the shape",
            request().addInputs(shared("r", number(8), null)),
            "input byte size mismatch for input 'X' for model 'm'. Expected 4, got 8"),
        refusal(
            "shared memory of a negative size",
            request().addInputs(shared("r", number(-4), null)),
            "parameter 'shared_memory_byte_size' of tensor 'X' is -4; it must be 0 or more"),
        refusal(
            "shared memory whose offset is a text",
            request()
                .addInputs(
                    shared(
                        "r", number(4), InferParameter.newBuilder().setStringParam("8").build())),
            "invalid value type for 'shared_memory_offset' parameter for tensor 'X', expected"
                + " int64_param but got string_param"),
        refusal(
            "a size without shared memory",
            request().addInputs(shared("", number(4), null)),
            "'shared_memory_byte_size' can not be specified without 'shared_memory_region'"),
        refusal(
            "shared memory and contents",
            request().addInputs(shared("r", number(4), null).setContents(floats(1))),
            "unexpected 'content' provided when using shared memory for input tensor 'X'"),
        refusal(
            "no classes",
            request().addOutputs(classes("Y", number(0))),
            "invalid value for 'classification' parameter, expected > 0 but got 0 for output 'Y'"),
        refusal(
            "fewer than no classes",
            request().addOutputs(classes("Y", number(Long.MIN_VALUE))),
            "expected > 0 but got -9223372036854775808 for output 'Y'"),
        refusal(
            "a number of classes that is a text",
            request()
                .addOutputs(classes("Y", InferParameter.newBuilder().setStringParam("3").build())),
            "invalid value type for 'classification' parameter, expected int64_param but got string_param"),
        refusal(
            "an unsigned number of classes",
            request()
                .addOutputs(classes("Y", InferParameter.newBuilder().setUint64Param(3).build())),
            "expected int64_param but got uint64_param"),
        refusal(
            "classes in shared memory",
            request()
                .addOutputs(
                    classes("Y", number(3))
                        .putParameters(
                            "shared_memory_region",
                            InferParameter.newBuilder().setStringParam("r").build())
                        .putParameters("shared_memory_byte_size", number(8))),
            "output can't set both 'shared_memory_region' and 'classification', as 'Y' does"));
  }

  @ParameterizedTest
  @MethodSource("refused")
  void shouldRefuseByStatusAndText(
      ModelInferRequest.Builder request, WireStatus status, String text) {
    WireException refusal =
        catchThrowableOfType(WireException.class, () -> Decoded.of(request.build()));

    assertThat(refusal).isNotNull();
    assertThat(refusal.status()).isEqualTo(status);
    assertThat(refusal.text()).contains(text);
  }

  private static InferRequestedOutputTensor.Builder classes(String name, InferParameter count) {
    return output(name).putParameters("classification", count);
  }

  private static Arguments refusal(String name, ModelInferRequest.Builder request, String text) {
    return argumentSet(name, request, WireStatus.INVALID_ARGUMENT, text);
  }

  private static ModelInferRequest.Builder request() {
    return ModelInferRequest.newBuilder().setModelName("m");
  }

  private static InferInputTensor.Builder input(String datatype, long... shape) {
    InferInputTensor.Builder input =
        InferInputTensor.newBuilder().setName("X").setDatatype(datatype);
    for (long extent : shape) {
      input.addShape(extent);
    }
    return input;
  }

  private static InferRequestedOutputTensor.Builder output(String name) {
    return InferRequestedOutputTensor.newBuilder().setName(name);
  }

  private static ByteString bytes(int count) {
    return ByteString.copyFrom(new byte[count]);
  }

  private static InferTensorContents.Builder floats(float... values) {
    InferTensorContents.Builder contents = InferTensorContents.newBuilder();
    for (float value : values) {
      contents.addFp32Contents(value);
    }
    return contents;
  }

  private static InferTensorContents.Builder ints(int... values) {
    InferTensorContents.Builder contents = InferTensorContents.newBuilder();
    for (int value : values) {
      contents.addIntContents(value);
    }
    return contents;
  }

  private static InferTensorContents.Builder uints(int... values) {
    InferTensorContents.Builder contents = InferTensorContents.newBuilder();
    for (int value : values) {
      contents.addUintContents(value);
    }
    return contents;
  }

  private static InferTensorContents.Builder strings(String... values) {
    InferTensorContents.Builder contents = InferTensorContents.newBuilder();
    for (String value : values) {
      contents.addBytesContents(ByteString.copyFromUtf8(value));
    }
    return contents;
  }

  private static InferInputTensor.Builder shared(
      String region, @Nullable InferParameter size, @Nullable InferParameter offset) {
    InferInputTensor.Builder input = input("FP32", 1);
    if (!region.isEmpty()) {
      input.putParameters(
          "shared_memory_region", InferParameter.newBuilder().setStringParam(region).build());
    }
    if (size != null) {
      input.putParameters("shared_memory_byte_size", size);
    }
    if (offset != null) {
      input.putParameters("shared_memory_offset", offset);
    }
    return input;
  }

  private static InferParameter number(long value) {
    return InferParameter.newBuilder().setInt64Param(value).build();
  }
}

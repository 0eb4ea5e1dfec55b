package dev.roundhouse.kserve.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.argumentSet;

import com.google.protobuf.ByteString;
import dev.roundhouse.bundle.request.RequestOptions;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.InferTensorContents;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import java.nio.ByteBuffer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The same values sent typed and raw must reach the engine as the same bytes. */
class TypedContentsTest {

  static Stream<Arguments> values() {
    return Stream.of(
        argumentSet(
            "BOOL", "BOOL", contents().addBoolContents(true).addBoolContents(false), "0100"),
        argumentSet("INT8", "INT8", contents().addIntContents(-128).addIntContents(127), "807f"),
        argumentSet(
            "INT16", "INT16", contents().addIntContents(-2).addIntContents(0x0102), "feff0201"),
        argumentSet(
            "INT32",
            "INT32",
            contents().addIntContents(Integer.MIN_VALUE).addIntContents(1),
            "0000008001000000"),
        argumentSet(
            "INT64",
            "INT64",
            contents().addInt64Contents(-1).addInt64Contents(1),
            "ffffffffffffffff0100000000000000"),
        argumentSet("UINT8", "UINT8", contents().addUintContents(255).addUintContents(0), "ff00"),
        argumentSet(
            "UINT16", "UINT16", contents().addUintContents(65535).addUintContents(1), "ffff0100"),
        argumentSet(
            "UINT32",
            "UINT32",
            contents().addUintContents(-1).addUintContents(1),
            "ffffffff01000000"),
        argumentSet(
            "UINT64",
            "UINT64",
            contents().addUint64Contents(-1).addUint64Contents(1),
            "ffffffffffffffff0100000000000000"),
        argumentSet(
            "FP32",
            "FP32",
            contents().addFp32Contents(1.5f).addFp32Contents(Float.NaN),
            "0000c03f0000c07f"),
        argumentSet(
            "FP64",
            "FP64",
            contents().addFp64Contents(-0.25).addFp64Contents(0),
            "000000000000d0bf0000000000000000"),
        argumentSet(
            "BYTES",
            "BYTES",
            contents()
                .addBytesContents(ByteString.copyFromUtf8("é"))
                .addBytesContents(ByteString.EMPTY),
            "02000000c3a900000000"));
  }

  @ParameterizedTest
  @MethodSource("values")
  void shouldGiveSameBytesTypedAndRaw(
      String datatype, InferTensorContents.Builder contents, String hex) {
    InferInputTensor.Builder input = InferInputTensor.newBuilder();
    input.setName("X").setDatatype(datatype).addShape(1).addShape(2);
    ByteString expected = ByteString.fromHex(hex);

    ByteBuffer typed = decode(request().addInputs(input.clone().setContents(contents)));
    ByteBuffer raw = decode(request().addInputs(input).addRawInputContents(expected));

    assertThat(typed).isEqualTo(expected.asReadOnlyByteBuffer());
    assertThat(raw).isEqualTo(typed);
  }

  @Test
  void shouldTakeEmptyContentsWhenShapeHasNoElements() {
    InferInputTensor.Builder input = InferInputTensor.newBuilder();
    input.setName("X").setDatatype("FP32").addShape(0).addShape(Long.MAX_VALUE);
    input.setContents(contents());

    assertThat(decode(request().addInputs(input)).remaining()).isZero();
  }

  @Test
  void shouldTakeVersionsAsTritonDoes() {
    assertThat(ModelVersion.parse("01")).isEqualTo("1");
    assertThat(ModelVersion.parse(" 1")).isEqualTo("1");
    assertThat(ModelVersion.parse("")).isEmpty();
  }

  @Test
  void shouldReadNoTimeoutWhenBudgetIsNotPositive() {
    for (long nanos : new long[] {0, -1, Long.MIN_VALUE}) {
      InferParameter budget = InferParameter.newBuilder().setInt64Param(nanos).build();
      ModelInferRequest.Builder request = request().putParameters("reactant_timeout_ns", budget);

      assertThat(Decoded.of(request.build()).options().timeoutNanos())
          .isEqualTo(RequestOptions.NO_TIMEOUT);
    }
  }

  private static InferTensorContents.Builder contents() {
    return InferTensorContents.newBuilder();
  }

  private static ModelInferRequest.Builder request() {
    return ModelInferRequest.newBuilder().setModelName("m");
  }

  private static ByteBuffer decode(ModelInferRequest.Builder request) {
    return Decoded.inline(Decoded.of(request.build()).inputs().getFirst());
  }
}

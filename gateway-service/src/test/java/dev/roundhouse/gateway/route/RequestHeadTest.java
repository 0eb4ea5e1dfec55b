package dev.roundhouse.gateway.route;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.InferTensorContents;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferRequestedOutputTensor;
import io.grpc.StatusRuntimeException;
import java.io.ByteArrayInputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Objects;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RequestHeadTest {
  private static final int PAYLOAD = 1000;

  @Test
  void shouldReadWhatDecidesAndNoPayload() {
    byte[] message = message(7).toByteArray();
    ByteBuffer withoutPayload = ByteBuffer.wrap(message, 0, message.length - PAYLOAD + 10);
    assertThat(RequestHead.read(withoutPayload, true))
        .isEqualTo(new RequestHead("resnet", "2", "", 7));
  }

  @Test
  void shouldAskForMoreUntilItKnowsModelAndItems() {
    byte[] message = message(7).toByteArray();
    int head = message.length - PAYLOAD - 3; // tag and length of the payload
    int needed = 0;
    while (RequestHead.read(ByteBuffer.wrap(message, 0, needed), true) == null) {
      needed++;
    }
    assertThat(needed).isLessThanOrEqualTo(head);
    for (int shown = needed; shown <= message.length; shown++) {
      assertThat(RequestHead.read(ByteBuffer.wrap(message, 0, shown), true))
          .isEqualTo(new RequestHead("resnet", "2", "", 7));
    }
    assertThat(RequestHead.read(ByteBuffer.wrap(message, 0, 3), false))
        .as("there is no more")
        .isEqualTo(new RequestHead("", "", "", 1));
  }

  /** Typed strings stand in the input itself, and may be long. */
  @Test
  void shouldTakeItemsOfStringsFromTheirShape() {
    InferTensorContents.Builder strings = InferTensorContents.newBuilder();
    for (int i = 0; i < 6; i++) {
      strings.addBytesContents(ByteString.copyFrom(new byte[PAYLOAD]));
    }
    ModelInferRequest typed =
        ModelInferRequest.newBuilder()
            .setModelName("text")
            .addInputs(
                InferInputTensor.newBuilder()
                    .setName("s")
                    .setDatatype("BYTES")
                    .addShape(3)
                    .addShape(2)
                    .setContents(strings))
            .build();
    RequestHead expected = new RequestHead("text", "", "", 3);
    assertThat(head(typed)).isEqualTo(expected);
    assertThat(RequestHead.read(ByteBuffer.wrap(typed.toByteArray(), 0, 100), true))
        .isEqualTo(expected);
    assertThat(mayRunTwice(typed.toByteArray())).isTrue();
  }

  @Test
  void shouldRefuseALongNameByItsLengthAlone() {
    byte[] longest =
        ModelInferRequest.newBuilder().setModelName("n".repeat(255)).build().toByteArray();
    assertThat(head(ModelInferRequest.newBuilder().setModelName("n".repeat(255)).build()).model())
        .hasSize(255);
    assertThat(RequestHead.read(ByteBuffer.wrap(longest, 0, 100), true)).isNull();
    byte[] longer =
        ModelInferRequest.newBuilder().setModelName("n".repeat(70_000)).build().toByteArray();
    assertThatThrownBy(() -> RequestHead.read(ByteBuffer.wrap(longer, 0, 10), true))
        .hasMessage(
            "INVALID_ARGUMENT: model_name has 70000 bytes, the limit is 255 in one request");
    byte[] version =
        ModelInferRequest.newBuilder().setModelVersion("1".repeat(70_000)).build().toByteArray();
    assertThatThrownBy(() -> RequestHead.read(ByteBuffer.wrap(version, 0, 10), true))
        .hasMessageContaining("model_version has 70000 bytes");
  }

  @Test
  void shouldTellWhetherARequestMayRunTwice() {
    ModelInferRequest plain = message(7);
    assertThat(mayRunTwice(plain.toByteArray())).isTrue();
    byte[] cut = Arrays.copyOf(plain.toByteArray(), plain.getSerializedSize() - 1);
    assertThat(mayRunTwice(cut)).as("it is not all here").isFalse();
    InferParameter region = InferParameter.newBuilder().setStringParam("r").build();
    InferRequestedOutputTensor.Builder output =
        InferRequestedOutputTensor.newBuilder().setName("y");
    assertThat(mayRunTwice(plain.toBuilder().addOutputs(output).build().toByteArray())).isTrue();
    assertThat(
            mayRunTwice(
                plain.toBuilder()
                    .addOutputs(output)
                    .addOutputs(output.clone().putParameters(RequestHead.REGION, region))
                    .build()
                    .toByteArray()))
        .isFalse();
    ModelInferRequest reading =
        plain.toBuilder()
            .addInputs(InferInputTensor.newBuilder().putParameters(RequestHead.REGION, region))
            .build();
    assertThat(mayRunTwice(reading.toByteArray())).as("both may read the same memory").isTrue();
    ModelInferRequest step =
        plain.toBuilder()
            .putParameters("sequence_id", InferParameter.newBuilder().setInt64Param(5).build())
            .build();
    assertThat(mayRunTwice(step.toByteArray())).isFalse();
    assertThat(mayRunTwice(new byte[] {1, 2, 3})).isFalse();
  }

  private static boolean mayRunTwice(byte[] message) {
    return RequestHead.mayRunTwice(new ByteArrayInputStream(message));
  }

  @Test
  void shouldReadDirectMemoryAndLeaveTheBufferAsItIs() {
    byte[] message = message(3).toByteArray();
    ByteBuffer direct = ByteBuffer.allocateDirect(message.length).put(message).flip();
    RequestHead head = RequestHead.read(direct.asReadOnlyBuffer(), false);
    assertThat(head).isEqualTo(new RequestHead("resnet", "2", "", 3));
    assertThat(direct.remaining()).isEqualTo(message.length);
  }

  @Test
  void shouldReadItemsOfAMessageWithTypedContents() {
    byte[] message =
        ModelInferRequest.newBuilder()
            .setModelName("m")
            .addInputs(
                InferInputTensor.newBuilder()
                    .setName("x")
                    .setDatatype("INT32")
                    .addShape(5)
                    .addShape(2000)
                    .setContents(
                        InferTensorContents.newBuilder()
                            .addAllIntContents(IntStream.range(0, 10_000).boxed().toList())))
            .build()
            .toByteArray();
    assertThat(RequestHead.read(ByteBuffer.wrap(message, 0, 500), true))
        .isEqualTo(new RequestHead("m", "", "", 5));
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 42, -1})
  void shouldReadTheNumberOfASequence(long number) {
    ModelInferRequest message =
        message(1).toBuilder()
            .putParameters("other", InferParameter.newBuilder().setStringParam("x").build())
            .putParameters("sequence_id", InferParameter.newBuilder().setInt64Param(number).build())
            .build();
    assertThat(head(message).sequence()).isEqualTo(Long.toUnsignedString(number));
  }

  @Test
  void shouldReadTheTextOfASequenceAndTakeZeroForNone() {
    InferParameter text = InferParameter.newBuilder().setStringParam("call-7").build();
    InferParameter zero = InferParameter.newBuilder().setUint64Param(0).build();
    assertThat(head(message(1).toBuilder().putParameters("sequence_id", text).build()).sequence())
        .isEqualTo("call-7");
    assertThat(head(message(1).toBuilder().putParameters("sequence_id", zero).build()).sequence())
        .isEmpty();
  }

  @Test
  void shouldTakeAnythingForOneItemThatSaysNoOther() {
    ModelInferRequest.Builder none = ModelInferRequest.newBuilder().setModelName("m");
    assertThat(head(none.build()).rows()).isEqualTo(1);
    assertThat(head(none.addInputs(InferInputTensor.newBuilder().setName("x")).build()).rows())
        .isEqualTo(1);
    assertThat(head(message(0)).rows()).isEqualTo(1);
    assertThat(head(message(-3)).rows()).isEqualTo(1);
    assertThat(head(message(Long.MAX_VALUE)).rows()).isEqualTo(Integer.MAX_VALUE);
  }

  /** Whatever comes, it says something or asks for more. */
  @Test
  void shouldNotFailOfAnyBytes() {
    Random random = new Random(11);
    byte[] message = message(7).toByteArray();
    for (int round = 0; round < 20_000; round++) {
      byte[] changed = message.clone();
      for (int i = 0; i < 1 + random.nextInt(4); i++) {
        changed[random.nextInt(60)] = (byte) random.nextInt();
      }
      try {
        assertThat(RequestHead.read(ByteBuffer.wrap(changed), false)).isNotNull();
      } catch (StatusRuntimeException refusal) {
        assertThat(refusal).hasMessageMatching("INVALID_ARGUMENT: model_(name|version) has .*");
      }
    }
  }

  private static RequestHead head(ModelInferRequest message) {
    RequestHead head = RequestHead.read(ByteBuffer.wrap(message.toByteArray()), false);
    assertThat(head).isNotNull();
    return Objects.requireNonNull(head);
  }

  private static ModelInferRequest message(long items) {
    return ModelInferRequest.newBuilder()
        .setModelName("resnet")
        .setModelVersion("2")
        .setId("id-1")
        .addInputs(
            InferInputTensor.newBuilder()
                .setName("x")
                .setDatatype("UINT8")
                .addShape(items)
                .addShape(10))
        .addInputs(InferInputTensor.newBuilder().setName("y").setDatatype("UINT8").addShape(99))
        .addRawInputContents(ByteString.copyFrom(new byte[PAYLOAD]))
        .build();
  }
}

package dev.roundhouse.kserve.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.params.provider.Arguments.argumentSet;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.DiscardUnknownFieldsParser;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Parser;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.InferTensorContents;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferRequestedOutputTensor;
import dev.roundhouse.kserve.status.WireException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.Random;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Within the limits it reads what protobuf reads; beyond them it stops at the first too many. */
class RequestReaderTest {
  private static final Parser<ModelInferRequest> PROTOBUF =
      DiscardUnknownFieldsParser.wrap(ModelInferRequest.parser());

  @Test
  void shouldReadWhatProtobufReads() throws Exception {
    byte[] message = everything().build().toByteArray();

    assertThat(read(message)).isEqualTo(everything().build());
  }

  @Test
  void shouldReadALargeMessageFromTheStream() throws Exception {
    byte[] payload = new byte[1 << 20];
    new Random(7).nextBytes(payload);
    ModelInferRequest request =
        everything().addRawInputContents(ByteString.copyFrom(payload)).build();

    assertThat(read(request.toByteArray())).isEqualTo(request);
  }

  @Test
  void shouldReadElementsThatAreNotPacked() throws Exception {
    byte[] input =
        message(
            out -> {
              out.writeInt64(InferInputTensor.SHAPE_FIELD_NUMBER, 3);
              out.writeInt64(InferInputTensor.SHAPE_FIELD_NUMBER, -1);
              byte[] floats = message(in -> in.writeFloat(6, 1.5f));
              out.writeByteArray(InferInputTensor.CONTENTS_FIELD_NUMBER, floats);
              out.writeByteArray(InferInputTensor.CONTENTS_FIELD_NUMBER, floats);
            });
    byte[] request = message(out -> out.writeByteArray(5, input));

    assertThat(read(request)).isEqualTo(ModelInferRequest.parseFrom(request));
    assertThat(read(request).getInputs(0).getContents().getFp32ContentsList())
        .containsExactly(1.5f, 1.5f);
  }

  @Test
  void shouldForgetFieldsThatNobodyKnows() throws Exception {
    byte[] request =
        message(
            out -> {
              out.writeString(1, "m");
              out.writeInt64(99, 7);
              out.writeByteArray(100, new byte[5]);
            });

    assertThat(read(request)).isEqualTo(ModelInferRequest.newBuilder().setModelName("m").build());
  }

  @Test
  void shouldAgreeWithProtobufOnDamagedMessages() throws Exception {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    byte[] whole = everything().build().toByteArray();
    int understood = 0;
    for (int round = 0; round < 20_000; round++) {
      byte[] damaged = damaged(whole, random);
      ModelInferRequest expected = orNull(() -> PROTOBUF.parseFrom(damaged));
      ModelInferRequest actual = orNull(() -> read(damaged));
      assertThat(actual).as("seed %d, round %d", seed, round).isEqualTo(expected);
      understood += actual == null ? 0 : 1;
    }
    assertThat(understood).as("seed %d", seed).isBetween(100, 19_900);
  }

  static Stream<Arguments> excessive() {
    InferInputTensor.Builder manyDims = InferInputTensor.newBuilder();
    for (int i = 0; i <= MessageLimits.DIMENSIONS; i++) {
      manyDims.addShape(1);
    }
    ModelInferRequest.Builder manyInputs = ModelInferRequest.newBuilder();
    ModelInferRequest.Builder manyOutputs = ModelInferRequest.newBuilder();
    ModelInferRequest.Builder manyRaw = ModelInferRequest.newBuilder();
    ModelInferRequest.Builder manyParameters = ModelInferRequest.newBuilder();
    for (int i = 0; i <= MessageLimits.INPUTS; i++) {
      manyInputs.addInputs(InferInputTensor.getDefaultInstance());
      manyOutputs.addOutputs(InferRequestedOutputTensor.getDefaultInstance());
      manyRaw.addRawInputContents(ByteString.EMPTY);
    }
    for (int i = 0; i <= MessageLimits.PARAMETERS; i++) {
      manyParameters.putParameters("p" + i, InferParameter.getDefaultInstance());
    }
    String longName = "n".repeat(MessageLimits.NAME_BYTES + 1);
    InferParameter longText =
        InferParameter.newBuilder()
            .setStringParam("t".repeat(MessageLimits.TEXT_BYTES + 1))
            .build();
    return Stream.of(
        argumentSet("inputs", manyInputs, "the request has 4097 or more inputs", "4096"),
        argumentSet("outputs", manyOutputs, "the request has 4097 or more outputs", "4096"),
        argumentSet("raw contents", manyRaw, "4097 or more raw_input_contents", "4096"),
        argumentSet("parameters", manyParameters, "16385 parameters", "16384"),
        argumentSet(
            "dimensions",
            ModelInferRequest.newBuilder().addInputs(input()).addInputs(manyDims),
            "the shape of input 1 has 65 or more dimensions",
            "64"),
        argumentSet(
            "model name",
            ModelInferRequest.newBuilder().setModelName(longName),
            "model_name has 65537 bytes",
            "65536"),
        argumentSet(
            "parameter text",
            ModelInferRequest.newBuilder().putParameters("p", longText),
            "the text of a parameter has 1048577 bytes",
            "1048576"));
  }

  @ParameterizedTest
  @MethodSource("excessive")
  void shouldNameThingValueAndLimit(ModelInferRequest.Builder request, String thing, String limit) {
    assertThatThrownBy(() -> read(request.build().toByteArray()))
        .isInstanceOf(WireException.class)
        .hasMessageContaining(thing)
        .hasMessageContaining("the limit is " + limit);
  }

  @Test
  void shouldStopWhenTypedElementsOutgrowTheirBytes() throws Exception {
    byte[] ones = new byte[16 << 20]; // 8 bytes each in memory
    Arrays.fill(ones, (byte) 1);
    byte[] contents = message(out -> out.writeByteArray(3, ones));
    byte[] input = message(out -> out.writeByteArray(5, contents));
    byte[] request = message(out -> out.writeByteArray(5, input));

    assertThatThrownBy(() -> read(request))
        .isInstanceOf(WireException.class)
        .hasMessageContaining("typed contents take")
        .hasMessageContaining("send large tensors in raw_input_contents");
  }

  @Test
  void shouldRefuseGroupsInGroups() {
    byte[] groups = new byte[1 << 20];
    Arrays.fill(groups, (byte) (15 << 3 | 3)); // the beginning of a group of field 15

    assertThatThrownBy(() -> read(groups)).isInstanceOf(InvalidProtocolBufferException.class);
  }

  private static ModelInferRequest.Builder everything() {
    InferTensorContents contents =
        InferTensorContents.newBuilder()
            .addBoolContents(true)
            .addIntContents(-5)
            .addInt64Contents(Long.MIN_VALUE)
            .addUintContents(-1)
            .addUint64Contents(1L << 40)
            .addFp32Contents(0.5f)
            .addFp64Contents(-0.25)
            .addBytesContents(ByteString.copyFromUtf8("abc"))
            .build();
    return ModelInferRequest.newBuilder()
        .setModelName("modèle")
        .setModelVersion("3")
        .setId("id")
        .putParameters("b", InferParameter.newBuilder().setBoolParam(true).build())
        .putParameters("i", InferParameter.newBuilder().setInt64Param(-7).build())
        .putParameters("s", InferParameter.newBuilder().setStringParam("text").build())
        .putParameters("d", InferParameter.newBuilder().setDoubleParam(1.25).build())
        .putParameters("u", InferParameter.newBuilder().setUint64Param(1L << 50).build())
        .addInputs(
            input().putParameters("p", InferParameter.getDefaultInstance()).setContents(contents))
        .addInputs(input().setName("Y"))
        .addOutputs(
            InferRequestedOutputTensor.newBuilder()
                .setName("Z")
                .putParameters("q", InferParameter.newBuilder().setBoolParam(false).build()))
        .addRawInputContents(ByteString.copyFromUtf8("raw contents"))
        .addRawInputContents(ByteString.EMPTY);
  }

  private static InferInputTensor.Builder input() {
    return InferInputTensor.newBuilder().setName("X").setDatatype("FP32").addShape(1).addShape(300);
  }

  private static byte[] damaged(byte[] whole, Random random) {
    byte[] damaged =
        random.nextInt(4) == 0 ? Arrays.copyOf(whole, random.nextInt(whole.length)) : whole.clone();
    for (int i = random.nextInt(3); i >= 0 && damaged.length > 0; i--) {
      damaged[random.nextInt(damaged.length)] = (byte) random.nextInt();
    }
    return damaged;
  }

  private static ModelInferRequest read(byte[] message) throws IOException {
    return RequestReader.read(new ByteArrayInputStream(message), message.length);
  }

  private static @Nullable ModelInferRequest orNull(Reading reading) throws IOException {
    try {
      return reading.read();
    } catch (InvalidProtocolBufferException | WireException refusal) {
      return null;
    }
  }

  private static byte[] message(Writing writing) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    CodedOutputStream out = CodedOutputStream.newInstance(bytes);
    writing.write(out);
    out.flush();
    return bytes.toByteArray();
  }

  private interface Reading {
    ModelInferRequest read() throws IOException;
  }

  private interface Writing {
    void write(CodedOutputStream out) throws IOException;
  }
}

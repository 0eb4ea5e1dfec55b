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
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Within the limits it reads what protobuf reads; beyond them it stops at the first too many. */
class RequestWalkTest {
  private static final ByteString EMPTY = ByteString.EMPTY;
  private static final Parser<ModelInferRequest> PROTOBUF =
      DiscardUnknownFieldsParser.wrap(ModelInferRequest.parser());

  @Test
  void shouldReadWhatProtobufReads() throws Exception {
    for (ModelInferRequest.Builder request : List.of(typed(), raw())) {
      byte[] message = request.build().toByteArray();

      assertThat(Written.of(read(message))).isEqualTo(Written.kept(request.build()));
    }
  }

  @Test
  void shouldNotCopyRawContents() throws Exception {
    byte[] payload = new byte[1 << 20];
    new Random(7).nextBytes(payload);
    ModelInferRequest request =
        raw().addInputs(input()).addRawInputContents(ByteString.copyFrom(payload)).build();
    ByteBuffer message = ByteBuffer.allocateDirect(request.getSerializedSize() + 7);
    message.position(5).put(request.toByteArray()).flip().position(5);

    InferMessage read = RequestWalk.read(message);
    assertThat(Written.of(read)).isEqualTo(request);
    TensorSource.Raw last = (TensorSource.Raw) read.inputs().getLast().source();
    assertThat(last.data().isReadOnly()).isTrue();
    message.put(message.limit() - 1, (byte) ~payload[payload.length - 1]);
    assertThat(last.data().get(payload.length - 1)).isEqualTo((byte) ~payload[payload.length - 1]);
    assertThat(message.position()).isEqualTo(5);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1000, (1 << 20) - 1, 1 << 20, 3 << 20})
  void shouldReadAStreamWhoseLengthIsNotKnown(int bytes) throws Exception {
    ModelInferRequest request =
        raw().addInputs(input()).addRawInputContents(ByteString.copyFrom(new byte[bytes])).build();

    InferMessage read = RequestWalk.read(new ByteArrayInputStream(request.toByteArray()), -1);
    assertThat(Written.of(read)).isEqualTo(request);
  }

  @Test
  void shouldSayWhenAStreamEndsEarly() {
    assertThatThrownBy(() -> RequestWalk.read(new ByteArrayInputStream(new byte[3]), 4))
        .isInstanceOf(EOFException.class)
        .hasMessage("the message has 3 bytes instead of 4");
  }

  @Test
  void shouldMakeANameOnceThatComesAgain() throws Exception {
    byte[] message = raw().build().toByteArray();

    InferMessage first = read(message);
    InferMessage second = read(message);
    assertThat(second.modelName()).isEqualTo("modèle").isSameAs(first.modelName());
    assertThat(second.inputs().getFirst().datatype())
        .isSameAs(first.inputs().getFirst().datatype());
    assertThat(second.id()).isEqualTo("id").isNotSameAs(first.id());
  }

  @Test
  void shouldGiveNoRawContentsToInputsInSharedMemoryAndIgnoreWhatIsLeft() throws Exception {
    InferInputTensor shared =
        input()
            .putParameters(
                "shared_memory_region", InferParameter.newBuilder().setStringParam("r").build())
            .build();
    ModelInferRequest request =
        ModelInferRequest.newBuilder()
            .addInputs(shared)
            .addInputs(input())
            .addRawInputContents(ByteString.copyFromUtf8("first"))
            .addRawInputContents(ByteString.copyFromUtf8("nobody's"))
            .build();

    List<TensorHeader> inputs = read(request.toByteArray()).inputs();
    assertThat(inputs.getFirst().source()).isEqualTo(TensorSource.NONE);
    TensorSource.Raw raw = (TensorSource.Raw) inputs.getLast().source();
    assertThat(ByteString.copyFrom(raw.data()).toStringUtf8()).isEqualTo("first");
  }

  @Test
  void shouldNotTakeANameForAnother() throws Exception {
    for (int i = 0; i < 5000; i++) {
      for (String name : List.of("n" + i, "a name of some length " + i, i + "x".repeat(61))) {
        ModelInferRequest request = ModelInferRequest.newBuilder().setModelName(name).build();
        assertThat(read(request.toByteArray()).modelName()).isEqualTo(name);
      }
    }
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

    ModelInferRequest written = Written.of(read(request));
    assertThat(written).isEqualTo(ModelInferRequest.parseFrom(request));
    assertThat(written.getInputs(0).getContents().getFp32ContentsList())
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

    assertThat(Written.of(read(request)))
        .isEqualTo(ModelInferRequest.newBuilder().setModelName("m").build());
  }

  @ParameterizedTest
  @MethodSource("whole")
  void shouldAgreeWithProtobufOnDamagedMessages(byte[] whole) throws Exception {
    long seed = Long.getLong("codec.seed", System.nanoTime());
    int rounds = Integer.getInteger("codec.rounds", 40_000);
    System.out.printf("RequestWalkTest seed %d, %d rounds%n", seed, rounds);
    Random random = new Random(seed);
    int understood = 0;
    for (int round = 0; round < rounds; round++) {
      byte[] damaged = damaged(whole, random);
      ModelInferRequest expected = parsed(damaged);
      try {
        ModelInferRequest actual = Written.of(read(damaged));
        assertThat(actual)
            .as("seed %d, round %d", seed, round)
            .isEqualTo(expected == null ? null : Written.kept(expected));
        understood++;
      } catch (MalformedMessageException refusal) {
        // Protobuf for Java ends a number at its tenth byte, even when that says that another
        // follows. Protobuf for C++, which Triton has, refuses it, as is done here.
        if (!refusal.toString().contains("more than ten bytes")) {
          assertThat(expected).as("seed %d, round %d: %s", seed, round, refusal).isNull();
        }
      }
    }
    assertThat(understood).as("seed %d", seed).isBetween(rounds / 200, rounds - rounds / 200);
  }

  static Stream<Arguments> whole() {
    return Stream.of(
        argumentSet("typed", typed().build().toByteArray()),
        argumentSet("raw", raw().build().toByteArray()));
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

    assertThatThrownBy(() -> read(groups)).isInstanceOf(MalformedMessageException.class);
  }

  /** An input for each field of typed contents, and one that has elements in two. */
  private static ModelInferRequest.Builder typed() {
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
            contents().addBytesContents(ByteString.copyFromUtf8("abc")).addBytesContents(EMPTY),
            contents().addFp32Contents(1).addBoolContents(true),
            contents())) {
      request.addInputs(input().setContents(contents));
    }
    return request;
  }

  private static ModelInferRequest.Builder raw() {
    return named()
        .addInputs(input().putParameters("p", InferParameter.getDefaultInstance()))
        .addInputs(input().setName("Y"))
        .addRawInputContents(ByteString.copyFromUtf8("raw contents"))
        .addRawInputContents(EMPTY);
  }

  private static InferTensorContents.Builder contents() {
    return InferTensorContents.newBuilder();
  }

  private static ModelInferRequest.Builder named() {
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

  private static InferMessage read(byte[] message) throws IOException {
    return RequestWalk.read(new ByteArrayInputStream(message), message.length);
  }

  /** What protobuf reads; null when it refuses it. */
  private static @Nullable ModelInferRequest parsed(byte[] message) {
    try {
      return PROTOBUF.parseFrom(message);
    } catch (InvalidProtocolBufferException refusal) {
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

  private interface Writing {
    void write(CodedOutputStream out) throws IOException;
  }
}

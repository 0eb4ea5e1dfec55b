package dev.roundhouse.kserve.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.params.provider.Arguments.argumentSet;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedOutputStream;
import dev.roundhouse.kserve.proto.InferParameter;
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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Within the limits it reads what protobuf reads; beyond them it stops at the first too many. */
class RequestParserTest {

  @Test
  void shouldReadWhatProtobufReads() throws Exception {
    for (ModelInferRequest.Builder request :
        List.of(SampleRequests.typed(), SampleRequests.raw())) {
      byte[] message = request.build().toByteArray();

      assertThat(Written.of(read(message))).isEqualTo(Written.kept(request.build()));
    }
  }

  @Test
  void shouldNotCopyRawContents() throws Exception {
    byte[] payload = new byte[1 << 20];
    new Random(7).nextBytes(payload);
    ModelInferRequest request =
        SampleRequests.raw()
            .addInputs(SampleRequests.input())
            .addRawInputContents(ByteString.copyFrom(payload))
            .build();
    ByteBuffer message = ByteBuffer.allocateDirect(request.getSerializedSize() + 7);
    message.position(5).put(request.toByteArray()).flip().position(5);

    ReadMessage read = (ReadMessage) RequestParser.read(message);
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
        SampleRequests.raw()
            .addInputs(SampleRequests.input())
            .addRawInputContents(ByteString.copyFrom(new byte[bytes]))
            .build();

    ReadMessage read =
        (ReadMessage) RequestParser.read(new ByteArrayInputStream(request.toByteArray()), -1);
    assertThat(Written.of(read)).isEqualTo(request);
  }

  @Test
  void shouldSayWhenAStreamEndsEarly() {
    assertThatThrownBy(() -> RequestParser.read(new ByteArrayInputStream(new byte[3]), 4))
        .isInstanceOf(EOFException.class)
        .hasMessage("the message has 3 bytes instead of 4");
  }

  @Test
  void shouldMakeANameOnceThatComesAgain() throws Exception {
    byte[] message = SampleRequests.raw().build().toByteArray();

    ReadMessage first = read(message);
    ReadMessage second = read(message);
    assertThat(second.modelName()).isEqualTo("modèle").isSameAs(first.modelName());
    assertThat(second.inputs().getFirst().datatype())
        .isSameAs(first.inputs().getFirst().datatype());
    assertThat(second.id()).isEqualTo("id").isNotSameAs(first.id());
  }

  @Test
  void shouldGiveNoRawContentsToInputsInSharedMemoryAndIgnoreWhatIsLeft() throws Exception {
    InferInputTensor shared =
        SampleRequests.input()
            .putParameters(
                "shared_memory_region", InferParameter.newBuilder().setStringParam("r").build())
            .build();
    ModelInferRequest request =
        ModelInferRequest.newBuilder()
            .addInputs(shared)
            .addInputs(SampleRequests.input())
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
            ModelInferRequest.newBuilder().addInputs(SampleRequests.input()).addInputs(manyDims),
            "the shape of input 1 has 65 or more dimensions",
            "64"),
        argumentSet(
            "model name",
            ModelInferRequest.newBuilder().setModelName(longName),
            "model_name has 256 bytes",
            "255"),
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

  private static ReadMessage read(byte[] message) throws IOException {
    return (ReadMessage) RequestParser.read(new ByteArrayInputStream(message), message.length);
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

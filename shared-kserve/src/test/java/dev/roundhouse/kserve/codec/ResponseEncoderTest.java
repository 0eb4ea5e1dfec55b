package dev.roundhouse.kserve.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import dev.roundhouse.kserve.proto.ModelInferResponse.InferOutputTensor;
import dev.roundhouse.kserve.proto.ModelStreamInferResponse;
import dev.roundhouse.kserve.status.WireException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ResponseEncoderTest {
  private static final String[] TEXTS = {"", "m", "größe", "模型", "x".repeat(200), "🚂"};

  @Test
  void shouldWriteWhatProtobufWrites() throws IOException {
    SplittableRandom random = new SplittableRandom(7);
    for (int round = 0; round < 2_000; round++) {
      ResponseMessage response = response(random);
      EncodedMessage encoded = ResponseEncoder.encode(response);
      byte[] bytes = bytes(encoded);
      ModelInferResponse expected = protobuf(response);
      assertThat(bytes).hasSize(encoded.byteSize()).hasSize(expected.getSerializedSize());
      assertThat(ModelInferResponse.parseFrom(bytes)).as("round %d", round).isEqualTo(expected);
    }
  }

  @Test
  void shouldWriteAStreamsAnswersAsProtobufDoes() throws IOException {
    SplittableRandom random = new SplittableRandom(11);
    for (int round = 0; round < 500; round++) {
      ResponseMessage response = response(random);
      String error = text(random);
      EncodedMessage encoded = ResponseEncoder.encodeStreamed(error, response);
      byte[] bytes = bytes(encoded);
      ModelStreamInferResponse expected =
          ModelStreamInferResponse.newBuilder()
              .setErrorMessage(error)
              .setInferResponse(protobuf(response))
              .build();
      assertThat(bytes).hasSize(encoded.byteSize());
      assertThat(ModelStreamInferResponse.parseFrom(bytes)).isEqualTo(expected);
    }
  }

  @Test
  void shouldHandOverPayloadsWhereTheyAre() {
    ByteBuffer payload = ByteBuffer.allocateDirect(32);
    ResponseTensor output = new ResponseTensor("y", DType.U8, Shape.of(32), Map.of(), payload);
    List<ByteBuffer> handed = new ArrayList<>();
    ResponseEncoder.encode(new ResponseMessage("m", "1", "", Map.of(), List.of(output)))
        .writeTo(
            new EncodedMessage.Target<RuntimeException>() {
              @Override
              public void bytes(byte[] from, int offset, int length) {}

              @Override
              public void payload(ByteBuffer data) {
                handed.add(data);
              }
            });
    payload.put(5, (byte) 42);
    assertThat(handed).hasSize(1);
    assertThat(handed.getFirst().get(5)).as("not a copy").isEqualTo((byte) 42);
    assertThat(payload.position()).isZero();
  }

  @Test
  void shouldRefuseAnAnswerLargerThanAMessage(@TempDir Path folder) throws IOException {
    ByteBuffer large = hole(folder.resolve("hole"), 1 << 30);
    ResponseTensor first = new ResponseTensor("a", DType.U8, Shape.of(1 << 30), Map.of(), large);
    ResponseTensor second = new ResponseTensor("b", DType.U8, Shape.of(1 << 30), Map.of(), large);
    ResponseMessage response = new ResponseMessage("m", "1", "", Map.of(), List.of(first, second));
    assertThatThrownBy(() -> ResponseEncoder.encode(response))
        .isInstanceOf(WireException.class)
        .hasMessageContaining("response of model 'm' has 2147483648 bytes of output")
        .hasMessageContaining("request fewer rows");
  }

  /** Memory that is nowhere until it is touched. */
  private static ByteBuffer hole(Path file, int length) throws IOException {
    try (FileChannel channel =
        FileChannel.open(
            file,
            StandardOpenOption.CREATE_NEW,
            StandardOpenOption.READ,
            StandardOpenOption.WRITE)) {
      return channel.map(FileChannel.MapMode.READ_WRITE, 0, length);
    }
  }

  static byte[] bytes(EncodedMessage message) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try {
      message.writeTo(out);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return out.toByteArray();
  }

  private static ResponseMessage response(SplittableRandom random) {
    List<ResponseTensor> outputs = new ArrayList<>();
    for (int i = random.nextInt(4); i > 0; i--) {
      outputs.add(output(random));
    }
    return new ResponseMessage(
        text(random), text(random), text(random), parameters(random), outputs);
  }

  private static ResponseTensor output(SplittableRandom random) {
    long[] dims = new long[random.nextInt(4)];
    for (int axis = 0; axis < dims.length; axis++) {
      dims[axis] = random.nextInt(3) == 0 ? random.nextLong(1L << 40) : random.nextInt(200);
    }
    int length = random.nextInt(4) == 0 ? random.nextInt(40_000) : random.nextInt(20);
    boolean direct = random.nextBoolean();
    ByteBuffer data =
        direct ? ByteBuffer.allocateDirect(length + 3) : ByteBuffer.allocate(length + 3);
    for (int i = 0; i < data.capacity(); i++) {
      data.put(i, (byte) random.nextInt());
    }
    DType[] types = DType.values();
    return new ResponseTensor(
        text(random),
        types[random.nextInt(types.length)],
        Shape.of(dims),
        parameters(random),
        data.slice(2, length));
  }

  private static Map<String, ParameterValue> parameters(SplittableRandom random) {
    Map<String, ParameterValue> parameters = new LinkedHashMap<>();
    for (int i = random.nextInt(4); i > 0; i--) {
      parameters.put(text(random), value(random));
    }
    return parameters;
  }

  private static ParameterValue value(SplittableRandom random) {
    return switch (random.nextInt(6)) {
      case 0 -> new ParameterValue.Flag(random.nextBoolean());
      case 1 -> new ParameterValue.Signed(random.nextLong() >> random.nextInt(64));
      case 2 -> new ParameterValue.Unsigned(random.nextLong() >>> random.nextInt(64));
      case 3 -> new ParameterValue.Real(random.nextDouble());
      case 4 -> new ParameterValue.Text(text(random));
      default -> ParameterValue.UNSET;
    };
  }

  private static String text(SplittableRandom random) {
    return TEXTS[random.nextInt(TEXTS.length)];
  }

  private static ModelInferResponse protobuf(ResponseMessage response) {
    ModelInferResponse.Builder message =
        ModelInferResponse.newBuilder()
            .setModelName(response.modelName())
            .setModelVersion(response.modelVersion())
            .setId(response.id());
    response
        .parameters()
        .forEach((name, value) -> message.putParameters(name, Written.parameter(value)));
    for (ResponseTensor output : response.outputs()) {
      InferOutputTensor.Builder tensor =
          InferOutputTensor.newBuilder()
              .setName(output.name())
              .setDatatype(output.dtype().wireName());
      for (int axis = 0; axis < output.shape().rank(); axis++) {
        tensor.addShape(output.shape().dim(axis));
      }
      output
          .parameters()
          .forEach((name, value) -> tensor.putParameters(name, Written.parameter(value)));
      message
          .addOutputs(tensor)
          .addRawOutputContents(ByteString.copyFrom(output.data().duplicate()));
    }
    return message.build();
  }
}

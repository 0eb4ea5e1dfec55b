package dev.roundhouse.kserve.codec;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RequestTemplateTest {
  /** Around the sizes at which a length takes one byte more. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 127, 128, 129, 16_383, 16_384, 2_097_151, 2_097_152})
  void shouldFindDataOfEveryLength(int bytes) throws Exception {
    RequestTemplate template = template(request(bytes));
    byte[] again = request(bytes).setId("8").build().toByteArray();
    InferMessage read = Objects.requireNonNull(read(template, again, again.length));
    assertThat(read).isInstanceOf(KnownMessage.class);
    assertThat(RequestCheck.check(read))
        .isEqualTo(RequestCheck.check(RequestParser.readAnew(ByteBuffer.wrap(again))));
    byte[] other = request(bytes + 1).build().toByteArray();
    assertThat(read(template, other, other.length)).isNull();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 40, 200})
  void shouldNotMatchAMessageThatIsCutOff(int bytes) throws Exception {
    RequestTemplate template = template(request(bytes));
    byte[] whole = request(bytes).build().toByteArray();
    for (int end = 0; end < whole.length; end++) {
      assertThat(read(template, whole, end)).as("%d of %d bytes", end, whole.length).isNull();
    }
  }

  @Test
  void shouldNotMatchALengthInMoreBytesThanLengthsHave() throws Exception {
    RequestTemplate template = template(request(3));
    byte[] plain = request(3).build().toByteArray();
    int length = plain.length - 4; // of the data, before its three bytes
    assertThat(plain[length]).isEqualTo((byte) 3);
    for (int more = 1; more <= 5; more++) {
      byte[] padded = new byte[plain.length + more];
      System.arraycopy(plain, 0, padded, 0, length);
      padded[length] = (byte) 0x83;
      for (int i = 1; i < more; i++) {
        padded[length + i] = (byte) 0x80;
      }
      System.arraycopy(plain, length + 1, padded, length + more + 1, 3);
      assertThat(read(template, padded, padded.length) != null)
          .as("%d bytes more", more)
          .isEqualTo(more < 4);
    }
  }

  @Test
  void shouldBeAsLongAsAllowed() throws Exception {
    ModelInferRequest.Builder request = request(1).setModelName("m".repeat(250));
    int name = 1;
    while (sizeWithoutData(request) < RequestTemplate.LONGEST) {
      request
          .clearOutputs()
          .addOutputs(
              ModelInferRequest.InferRequestedOutputTensor.newBuilder().setName("o".repeat(name)));
      name++;
    }
    assertThat(sizeWithoutData(request)).isEqualTo(RequestTemplate.LONGEST);
    assertThat(templateOf(request)).isNotNull();
    assertThat(templateOf(request.setId("17"))).as("a byte longer").isNull();
  }

  private static int sizeWithoutData(ModelInferRequest.Builder request) {
    return request.clone().clearRawInputContents().build().getSerializedSize();
  }

  @Test
  void shouldLookInTheSamePlaceForMessagesOfOneTemplate() {
    for (int name = 1; name <= 20; name++) {
      byte[] one = message(name, 'a', (byte) 1);
      byte[] same = message(name, 'a', (byte) 2);
      assertThat(hash(one)).as("a name of %d bytes", name).isEqualTo(hash(same));
      assertThat(hash(message(name, 'b', (byte) 1))).as("another name").isNotEqualTo(hash(one));
    }
    assertThat(hash(message(5, 'a', (byte) 1))).isNotEqualTo(hash(message(6, 'a', (byte) 1)));
    byte[] longer = java.util.Arrays.copyOf(message(5, 'a', (byte) 1), 41);
    assertThat(hash(longer)).as("its length").isNotEqualTo(hash(message(5, 'a', (byte) 1)));
  }

  /** Of 40 bytes, which begins with a model's name. */
  private static byte[] message(int name, char letter, byte rest) {
    byte[] message = new byte[40];
    java.util.Arrays.fill(message, rest);
    message[0] = 10;
    message[1] = (byte) name;
    java.util.Arrays.fill(message, 2, 2 + name, (byte) 'n');
    message[1 + name] = (byte) letter;
    return message;
  }

  private static long hash(byte[] message) {
    ByteBuffer in = ByteBuffer.wrap(message).order(ByteOrder.LITTLE_ENDIAN);
    return RequestTemplate.hash(in, 0, message.length);
  }

  private static ModelInferRequest.Builder request(int bytes) {
    return ModelInferRequest.newBuilder()
        .setModelName("model")
        .setId("7")
        .addInputs(
            ModelInferRequest.InferInputTensor.newBuilder()
                .setName("x")
                .setDatatype("UINT8")
                .addShape(bytes))
        .addRawInputContents(ByteString.copyFrom(new byte[bytes]));
  }

  private static RequestTemplate template(ModelInferRequest.Builder request) throws IOException {
    return Objects.requireNonNull(templateOf(request));
  }

  private static @Nullable RequestTemplate templateOf(ModelInferRequest.Builder request)
      throws IOException {
    ByteBuffer in = ByteBuffer.wrap(request.build().toByteArray()).order(ByteOrder.LITTLE_ENDIAN);
    return RequestTemplate.of(in, RequestParser.readAnew(in.duplicate()));
  }

  private static @Nullable InferMessage read(RequestTemplate template, byte[] message, int end) {
    ByteBuffer in = ByteBuffer.wrap(message).order(ByteOrder.LITTLE_ENDIAN);
    return template.read(in, 0, end, MessageMemory.COLLECTED);
  }
}

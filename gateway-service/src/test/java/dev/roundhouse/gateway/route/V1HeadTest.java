package dev.roundhouse.gateway.route;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import dev.roundhouse.kserve.v1.proto.InferRequest;
import dev.roundhouse.kserve.v1.proto.InferRequestHeader;
import io.grpc.StatusRuntimeException;
import java.nio.ByteBuffer;
import java.util.Random;
import org.junit.jupiter.api.Test;

class V1HeadTest {
  private static final int PAYLOAD = 1000;
  private static final RequestHead EXPECTED =
      new RequestHead("resnet", "3", "18446744073709551615", 7);

  private static InferRequestHeader header() {
    return InferRequestHeader.newBuilder()
        .setBatchSize(7)
        .setCorrelationId(-1)
        .addInput(InferRequestHeader.Input.newBuilder().setName("x").addDims(4))
        .build();
  }

  private static InferRequest message() {
    return InferRequest.newBuilder()
        .setModelName("resnet")
        .setModelVersion(3)
        .setMetaData(header())
        .addRawInput(ByteString.copyFrom(new byte[PAYLOAD]))
        .build();
  }

  @Test
  void shouldAskForMoreUntilItHasTheHeaderAndReadNoPayload() {
    byte[] message = message().toByteArray();
    int head = message.length - PAYLOAD - 3; // tag and length of the payload
    for (int shown = 0; shown <= message.length; shown++) {
      RequestHead read = V1Head.read(ByteBuffer.wrap(message, 0, shown), true);
      if (shown < head) {
        assertThat(read).as("of %d bytes", shown).isNull();
      } else {
        assertThat(read).as("of %d bytes", shown).isEqualTo(EXPECTED);
      }
    }
  }

  @Test
  void shouldTakeWhatThereIsWhenThereIsNoMore() {
    InferRequest bare = InferRequest.newBuilder().setModelName("m").setModelVersion(-1).build();
    assertThat(V1Head.read(ByteBuffer.wrap(bare.toByteArray()), false))
        .isEqualTo(new RequestHead("m", "", "", 1));
    assertThat(V1Head.read(ByteBuffer.allocate(0), false))
        .isEqualTo(new RequestHead("", "", "", 1));
  }

  @Test
  void shouldReadTheHeaderOfHttp() {
    assertThat(V1Head.of("resnet", "3", header())).isEqualTo(EXPECTED);
    assertThat(V1Head.of("resnet", "", InferRequestHeader.getDefaultInstance()))
        .isEqualTo(new RequestHead("resnet", "", "", 1));
  }

  @Test
  void shouldRefuseNamesThatAreTooLongBeforeTheyAreHere() {
    byte[] begin =
        InferRequest.newBuilder().setModelName("m".repeat(1 << 20)).build().toByteArray();
    assertThatThrownBy(() -> V1Head.read(ByteBuffer.wrap(begin, 0, 10), true))
        .isInstanceOf(StatusRuntimeException.class)
        .hasMessageContaining("model_name");
  }

  @Test
  void shouldReadWhateverComes() {
    Random random = new Random(5);
    for (int i = 0; i < 20_000; i++) {
      byte[] message = message().toByteArray();
      for (int flips = random.nextInt(6); flips >= 0; flips--) {
        message[random.nextInt(40)] ^= (byte) (1 << random.nextInt(8));
      }
      try {
        assertThat(V1Head.read(ByteBuffer.wrap(message), false)).isNotNull();
      } catch (StatusRuntimeException e) {
        assertThat(e).hasMessageContaining("model_name");
      }
    }
  }
}

package dev.roundhouse.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.kserve.tstream.ServerReply;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Hellos that are none. */
@Timeout(180)
class GatewayStreamHelloTest extends StreamsThroughGateway {
  static Stream<byte[]> badHellos() {
    byte[] good = hello("left").encoded();
    return Stream.of(
        "GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.US_ASCII),
        with(good, 0, 'X'),
        withInt(good, 8, 3),
        withInt(good, 8, 1 << 20),
        withInt(good, 8, -1),
        with(good, 44, 1),
        withInt(good, 32, 0x7fff),
        with(good, 20, 1),
        with(good, 48, 0xff),
        with(good, 49, 0),
        Arrays.copyOf(withInt(good, 8, good.length + 8), good.length + 8));
  }

  private static byte[] with(byte[] hello, int at, int value) {
    byte[] changed = hello.clone();
    changed[at] = (byte) value;
    return changed;
  }

  private static byte[] withInt(byte[] hello, int at, int value) {
    byte[] changed = hello.clone();
    ByteBuffer.wrap(changed).order(ByteOrder.LITTLE_ENDIAN).putInt(at, value);
    return changed;
  }

  @ParameterizedTest
  @MethodSource("badHellos")
  void shouldRefuseWhatIsNoHelloAndAskNobody(byte[] bytes) throws Exception {
    long before = counts().refusedEver(HelloStatus.BAD_HELLO);
    try (Line client = connect()) {
      ServerReply reply = client.send(bytes).reply();
      assertThat(reply.status()).isEqualTo(HelloStatus.BAD_HELLO);
      assertThat(reply.text()).isNotEmpty();
      assertThat(client.isOver()).isTrue();
    }
    assertThat(s0.hellos).isEmpty();
    assertThat(s1.hellos).isEmpty();
    assertThat(counts().refusedEver(HelloStatus.BAD_HELLO)).isEqualTo(before + 1);
  }

  @Test
  void shouldSurviveWhateverComesFirst() throws Exception {
    Random random = new Random(42);
    for (int i = 0; i < 300; i++) {
      byte[] bytes = hello("left").encoded();
      for (int flips = random.nextInt(4); flips >= 0; flips--) {
        bytes[random.nextInt(bytes.length)] ^= (byte) (1 << random.nextInt(8));
      }
      try (Line client = connect()) {
        client.send(bytes).halfClose();
        try {
          client.reply();
        } catch (IOException e) {
          // it was the beginning of a longer one
        }
      }
    }
    RunningGateway.await("all are over", () -> closeTaken() && counts().connections() == 0);
  }

  /** What was a hello all the same. */
  private static boolean closeTaken() {
    try {
      while (!s0.isIdle()) {
        s0.next().close();
      }
      while (!s1.isIdle()) {
        s1.next().close();
      }
      return true;
    } catch (IOException | InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void shouldRefuseAHelloThatIsTooLongWithWhatTheGatewayAdds() throws Exception {
    ClientHello long0 =
        new ClientHello(1, 1, Set.of(), 8, 1, 0, "left", "", "v".repeat(65_480), "", "", "", null);
    try (Line client = connect()) {
      ServerReply reply = client.greet(long0);
      assertThat(reply.status()).isEqualTo(HelloStatus.BAD_HELLO);
      assertThat(reply.text())
          .contains("bytes, and 65536 are allowed")
          .contains("a gateway writes");
    }
  }
}

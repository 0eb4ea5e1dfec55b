package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.client.stream.StreamEndedException;
import dev.roundhouse.client.stream.StreamRefusedException;
import dev.roundhouse.client.stream.StreamResult;
import dev.roundhouse.client.stream.TensorStream;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.kserve.tstream.StreamOption;
import dev.roundhouse.kserve.tstream.StreamSpec;
import dev.roundhouse.kserve.tstream.StreamTensor;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The Java client of tensor streams at a whole worker. */
@Timeout(120)
class StreamClientTest {
  private static final int WIDE = 50_000;

  @TempDir static Path repository;
  @TempDir static Path folder;
  private static RunningWorker worker;

  @BeforeAll
  static void start() throws Exception {
    TestBundle.doubling(2, 1, 4, 16).write(repository, "double");
    TestBundle.doubling(WIDE, 1).write(repository, "wide");
    worker =
        new RunningWorker(
                repository,
                TestBundle.DOUBLE,
                "--roundhouse.worker.stream.port=0",
                "--roundhouse.worker.stream.address=127.0.0.1",
                "--roundhouse.worker.stream.socket=" + folder.resolve("s"))
            .awaitLoaded();
  }

  @AfterAll
  static void stop() {
    worker.close();
  }

  private static SocketAddress tcp() {
    return new InetSocketAddress("127.0.0.1", worker.port("stream"));
  }

  private static ClientHello hello(String model, StreamOption... options) {
    return new ClientHello(1, 1, Set.of(options), 8, 1, 0, model, "", "", "", "", "", null);
  }

  private static List<ByteBuffer> floats(float... values) {
    return List.of(ByteBuffer.wrap(StreamPeer.floats(values)));
  }

  @Test
  void shouldSendManyMessagesByBothKindsOfSocketWithEachOption() throws Exception {
    ClientHello all =
        hello(
            "double",
            StreamOption.CHECKSUM,
            StreamOption.DEADLINE,
            StreamOption.IN_ORDER,
            StreamOption.ACCEPT_NOTICES);
    for (SocketAddress address : List.of(tcp(), UnixDomainSocketAddress.of(folder.resolve("s")))) {
      for (ClientHello each : List.of(hello("double"), all)) {
        Duration silence = each.equals(all) ? Duration.ofMinutes(1) : Duration.ZERO;
        try (TensorStream stream = TensorStream.open(address, each, null, silence)) {
          Set<Long> seen = new HashSet<>();
          while (seen.size() < 300) {
            while (stream.underWay() < stream.window() && seen.size() + stream.underWay() < 300) {
              float number = seen.size() + stream.underWay();
              stream.send(floats(number, 1));
            }
            StreamResult result = stream.receive();
            assertThat(result.isOk()).as(result.text()).isTrue();
            assertThat(result.output(0).getFloat()).isEqualTo(2f * result.sequence());
            assertThat(seen.add(result.sequence())).isTrue();
          }
        }
      }
    }
    worker.assertHoldsNothing();
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 60})
  void shouldCarryMessagesThatAreLargerThanItReadsAtATime(int seconds) throws Exception {
    Duration silence = Duration.ofSeconds(seconds);
    try (TensorStream stream = TensorStream.open(tcp(), hello("wide"), null, silence)) {
      float[] values = new float[WIDE];
      values[WIDE - 1] = 3;
      stream.send(floats(values));
      stream.send(floats(values));
      assertThat(stream.receive().output(0).getFloat((WIDE - 1) * 4)).isEqualTo(6);
      assertThat(stream.receive().output(0).getFloat((WIDE - 1) * 4)).isEqualTo(6);
    }
  }

  @Test
  void shouldSayWhatIsWrong() throws Exception {
    assertThatThrownBy(() -> TensorStream.open(tcp(), hello("none")))
        .isInstanceOfSatisfying(
            StreamRefusedException.class,
            refused -> assertThat(refused.status()).isEqualTo(HelloStatus.NO_SUCH_MODEL));
    StreamTensor x = new StreamTensor("x", DType.I32, Shape.of(1, 2));
    StreamSpec other = new StreamSpec(List.of(x), List.of(x));
    assertThatThrownBy(() -> TensorStream.open(tcp(), ClientHello.of("double", other, 1)))
        .hasMessageContaining("'x' FP32 [1,2], and the client has 'x' INT32 [1,2]");
    try (TensorStream stream = TensorStream.open(tcp(), hello("double", StreamOption.DEADLINE))) {
      assertThatThrownBy(() -> stream.send(floats(1))).hasMessageContaining("4 are given");
      assertThatThrownBy(stream::receive).hasMessage("no message is under way");
      stream.send(floats(1, 2), Duration.ZERO);
      StreamResult late = stream.receive();
      assertThat(late.status()).isEqualTo(4);
      assertThatThrownBy(() -> late.output(0)).hasMessageContaining(late.text());
      for (int i = 0; i < 8; i++) {
        stream.send(floats(1, 2), Duration.ofMinutes(1));
      }
      assertThatThrownBy(() -> stream.send(floats(1, 2)))
          .hasMessage("the window of 8 messages is full");
    }
  }

  @Test
  void shouldSayThatTheServerSpeaksSomethingElse() throws Exception {
    try (ServerSocket other = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      Thread answering =
          Thread.ofPlatform()
              .start(
                  () -> {
                    try (Socket accepted = other.accept()) {
                      accepted.getOutputStream().write(new byte[64]);
                      accepted.getInputStream().readAllBytes();
                    } catch (IOException e) {
                      // the client has gone
                    }
                  });
      SocketAddress address = other.getLocalSocketAddress();
      assertThatThrownBy(() -> TensorStream.open(address, hello("double")))
          .hasMessageContaining("TSTREAM begins with 54 53 52 4d");
      answering.join();
    }
  }

  @Test
  void shouldSayWhichMessagesWereNotTakenWhenTheServerStops() throws Exception {
    try (RunningWorker ends =
        new RunningWorker(
                repository,
                TestBundle.DOUBLE,
                "--roundhouse.worker.stream.port=0",
                "--roundhouse.worker.stream.address=127.0.0.1")
            .awaitLoaded()) {
      SocketAddress address = new InetSocketAddress("127.0.0.1", ends.port("stream"));
      try (TensorStream stream = TensorStream.open(address, hello("double"))) {
        stream.send(floats(1, 2));
        assertThat(stream.receive().sequence()).isZero();
        ends.stop();
        assertThatThrownBy(
                () -> {
                  stream.send(floats(1, 2));
                  stream.receive();
                })
            .isInstanceOfSatisfying(
                StreamEndedException.class,
                ended -> assertThat(ended.firstNotTaken()).isEqualTo(1));
      }
    }
  }
}

package dev.roundhouse.transport.http2;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.transport.io.Leaks;
import dev.roundhouse.transport.memory.PeerMemory;
import io.grpc.Server;
import io.grpc.Status;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Headers, and settings about headers and windows, that are meant to cost a server much. */
@Timeout(120)
class HostileHeadersTest {
  private static final int FLOW_CONTROL_ERROR = 3;

  private static final int HEADER_TABLE_SIZE = 1;
  private static final int INITIAL_WINDOW_SIZE = 4;
  private static final int MAX_HEADER_LIST_SIZE = 6;

  /** More would not fit into a frame. */
  private static final int REFERENCES = 12_000;

  /** Netty notes there what it ignores. */
  private static final Logger NETTY = Logger.getLogger("io.netty.handler.codec.http2");

  private final TestService service = new TestService();
  private final CountingRoot budget = new CountingRoot();
  private final List<RawClient> clients = new ArrayList<>();
  private Server server;

  @BeforeAll
  static void silence() {
    NETTY.setLevel(Level.WARNING);
  }

  @BeforeEach
  void start() throws IOException {
    server =
        Http2ServerBuilder.forAddress(GrpcContract.ANY_PORT)
            .peerMemory(new PeerMemory(budget))
            .addService(service.definition())
            .build()
            .start();
  }

  /** Another client is served, and nothing is left of the one before. */
  @AfterEach
  void stop() throws Exception {
    RawClient other = connect().settings();
    other.call(1, "Echo", 10);
    assertThat(other.awaitEnd(1).status()).isEqualTo(Status.Code.OK);
    for (RawClient client : clients) {
      client.close();
    }
    assertThat(server.shutdownNow().awaitTermination(10, TimeUnit.SECONDS)).isTrue();
    Leaks.awaitNone();
    assertThat(budget.held.get()).isZero();
  }

  private RawClient connect() throws IOException {
    RawClient client = new RawClient(server.getPort());
    clients.add(client);
    return client;
  }

  private RawClient connect(int setting, int value) throws IOException {
    RawClient client = connect();
    client.bytes(RawClient.PREFACE);
    client.frame(RawClient.SETTINGS, 0, 0, setting(setting, value));
    return client;
  }

  private static byte[] setting(int setting, int value) {
    byte[] payload = new byte[6];
    payload[1] = (byte) setting;
    RawClient.number(value, payload, 2);
    return payload;
  }

  /** How many of the calls were answered until all have ended, or the connection has. */
  private static int answered(RawClient client, int calls) throws IOException {
    int ended = 0;
    int answered = 0;
    try {
      while (ended < calls) {
        RawClient.Frame frame = client.read();
        boolean isEnd =
            frame.type() == RawClient.RST_STREAM
                || (frame.type() == RawClient.HEADERS
                    && (frame.flags() & RawClient.END_STREAM) != 0);
        ended += isEnd ? 1 : 0;
        answered += isEnd && frame.type() == RawClient.HEADERS ? 1 : 0;
      }
    } catch (EOFException | SocketException closed) {
      return answered;
    }
    return answered;
  }

  /** Such a setting is advice; servers that failed at it did all the work for nothing. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 60})
  void shouldAnswerAClientThatTakesNoHeaders(int most) throws Exception {
    RawClient client = connect(MAX_HEADER_LIST_SIZE, most);
    for (int i = 0; i < 300; i++) {
      client.call(2 * i + 1, "Echo", 10);
    }
    assertThat(answered(client, 300)).isEqualTo(300);
  }

  /** One field of 4,000 bytes that the table keeps, and then a byte for each further copy. */
  @Test
  void shouldRefuseHeadersThatUnpackToMuchMoreThanTheyAre() throws Exception {
    RawClient client = connect().settings();
    ByteArrayOutputStream block = new ByteArrayOutputStream();
    block.writeBytes(RawClient.call("Echo"));
    byte[] kept = RawClient.headers("a", "x".repeat(4000));
    kept[0] = 0x40; // to be remembered: entry 62 from then on
    block.writeBytes(kept);
    byte[] copies = new byte[REFERENCES];
    Arrays.fill(copies, (byte) (0x80 | 62));
    block.writeBytes(copies);
    client.frame(RawClient.HEADERS, RawClient.END_HEADERS, 1, block.toByteArray());

    assertThat(client.awaitClosed()).as("told why").isTrue();
    assertThat(budget.most.get()).isLessThan(1 << 20);
  }

  /** They have no bytes to count, and take memory nevertheless. */
  @Test
  void shouldCountFieldsOfNoBytes() throws Exception {
    RawClient client = connect().settings();
    ByteArrayOutputStream block = new ByteArrayOutputStream();
    block.writeBytes(RawClient.call("Echo"));
    for (int i = 0; i < 4000; i++) {
      block.writeBytes(RawClient.headers("n", ""));
    }
    client.frame(RawClient.HEADERS, RawClient.END_HEADERS, 1, block.toByteArray());
    assertThat(client.awaitClosed()).as("told why").isTrue();
    assertThat(budget.most.get()).isLessThan(1 << 20);
  }

  @Test
  void shouldServeAClientThatChangesItsTableAllTheTime() throws Exception {
    RawClient client = connect(HEADER_TABLE_SIZE, 0);
    for (int i = 0; i < 300; i++) {
      client.quietly(RawClient.SETTINGS, 0, 0, setting(HEADER_TABLE_SIZE, 64 * (i % 64)));
      client.call(2 * i + 1, "Echo", 10);
    }
    assertThat(answered(client, 300)).isEqualTo(300);
  }

  /** The server would have to keep as much of its own answers, for each connection. */
  @Test
  void shouldRememberNoTextsForAClientThatOffersALargeTable() throws Exception {
    RawClient client = connect(HEADER_TABLE_SIZE, -1); // 2^32 - 1
    client.rememberHeaders(0xFFFFFFFFL);
    refusedBytes(client, 1, 1);
    int second = refusedBytes(client, 3, 2); // what is the same in every answer is known by now
    assertThat(second).isGreaterThan(100);
    for (int i = 3; i < 300; i++) {
      assertThat(refusedBytes(client, 2 * i + 1, i)).isEqualTo(second);
    }
    assertThat(refusedBytes(client, 601, 2)).as("by itself, not by its number").isEqualTo(second);
  }

  /** How long an answer is that names a method which there is not. */
  private static int refusedBytes(RawClient client, int stream, int number) throws IOException {
    String path = "/test.Test/%0100d".formatted(1000 + number);
    byte[] block =
        RawClient.headers(
            ":method",
            "POST",
            ":scheme",
            "http",
            ":path",
            path,
            ":authority",
            "a",
            "content-type",
            "application/grpc");
    client.frame(RawClient.HEADERS, RawClient.END_HEADERS | RawClient.END_STREAM, stream, block);
    RawClient.Frame end = client.awaitEnd(stream);
    assertThat(end.status()).isEqualTo(Status.Code.UNIMPLEMENTED);
    return end.payload().length;
  }

  @Test
  void shouldRefuseAWindowLargerThanThereIs() throws Exception {
    RawClient client = connect(INITIAL_WINDOW_SIZE, Integer.MIN_VALUE); // 2^31
    assertThat(client.await(RawClient.GOAWAY).number(4)).isEqualTo(FLOW_CONTROL_ERROR);
    client.awaitClosed();
  }

  /** Each change goes through all open streams. */
  @Test
  void shouldServeOthersWhileAClientChangesTheWindowsOfManyStreams() throws Exception {
    RawClient client = connect().settings();
    for (int i = 0; i < 2000; i++) {
      client.quietly(RawClient.HEADERS, RawClient.END_HEADERS, 2 * i + 1, RawClient.call("Wait"));
    }
    long from = System.nanoTime();
    try {
      for (int i = 0; i < 2000; i++) {
        client.frame(
            RawClient.SETTINGS, 0, 0, setting(INITIAL_WINDOW_SIZE, i % 2 == 0 ? 0 : 1 << 30));
      }
    } catch (SocketException closed) {
      return;
    }
    RawClient other = connect().settings();
    other.call(1, "Echo", 10);
    assertThat(other.awaitEnd(1).status()).isEqualTo(Status.Code.OK);
    assertThat(TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - from)).isLessThan(20);
  }
}

package dev.roundhouse.transport.http2;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.transport.io.Leaks;
import dev.roundhouse.transport.memory.PeerMemory;
import io.grpc.Server;
import io.grpc.Status;
import java.io.IOException;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What clients do that no gRPC library would: it costs them, and nobody else. */
@Timeout(120)
class HostileFramesTest {
  private static final int PROTOCOL_ERROR = 1;
  private static final int FLOW_CONTROL_ERROR = 3;
  private static final int FRAME_SIZE_ERROR = 6;

  private static final int FLOOD = 200_000;

  /** Netty notes there what it ignores. */
  private static final Logger NETTY = Logger.getLogger("io.netty.handler.codec.http2");

  private final TestService service = new TestService();
  private final CountingRoot budget = new CountingRoot();
  private final List<RawClient> clients = new ArrayList<>();
  private @Nullable Server server;
  private int nextStream = 1;

  @BeforeAll
  static void silence() {
    NETTY.setLevel(Level.WARNING);
  }

  @AfterEach
  void stop() throws Exception {
    if (server != null) {
      assertServes();
      for (RawClient client : clients) {
        client.close();
      }
      assertThat(server.shutdownNow().awaitTermination(10, TimeUnit.SECONDS)).isTrue();
    }
    Leaks.awaitNone();
    assertThat(budget.held.get()).isZero();
  }

  private RawClient client() throws Exception {
    return client(UnaryOperator.identity());
  }

  private RawClient client(UnaryOperator<Http2ServerBuilder> settings) throws Exception {
    server =
        settings
            .apply(
                Http2ServerBuilder.forAddress(GrpcContract.ANY_PORT)
                    .peerMemory(new PeerMemory(budget))
                    .maxInboundMessageSize(256 << 20)
                    .addService(service.definition()))
            .build()
            .start();
    return another().settings();
  }

  private RawClient another() throws IOException {
    if (server == null) {
      throw new IllegalStateException("there is no server");
    }
    RawClient client = new RawClient(server.getPort());
    clients.add(client);
    return client;
  }

  /** Another client's call is answered. */
  private void assertServes() throws IOException {
    RawClient other = another().settings();
    other.call(1, "Echo", 10);
    assertThat(other.awaitEnd(1).status()).isEqualTo(Status.Code.OK);
  }

  private static void assertGoAway(RawClient client, int error) throws IOException {
    assertThat(client.await(RawClient.GOAWAY).number(4)).isEqualTo(error);
    client.awaitClosed();
  }

  /** Sends until the server has had enough. */
  private static void flood(RawClient client, Sending sending) throws IOException {
    try {
      for (int i = 0; i < FLOOD; i++) {
        sending.send(i);
      }
      client.bytes(new byte[0]);
    } catch (SocketException closed) {
      return;
    }
  }

  private interface Sending {
    void send(int i) throws IOException;
  }

  /** True when the server has ended the connection. */
  private static boolean isEnded(RawClient client) throws IOException {
    try {
      client.awaitClosed();
      return true;
    } catch (SocketTimeoutException open) {
      return false;
    }
  }

  @Test
  void shouldEndAConnectionThatResetsItsStreams() throws Exception {
    RawClient client = client();
    flood(
        client,
        i -> {
          int stream = 2 * i + 1;
          client.quietly(RawClient.HEADERS, RawClient.END_HEADERS, stream, RawClient.call("Wait"));
          client.quietly(RawClient.RST_STREAM, 0, stream, RawClient.number(8));
        });
    assertThat(isEnded(client)).isTrue();
    assertThat(service.waiting).as("services that were called").hasSizeLessThan(10_000);
  }

  @Test
  void shouldEndAConnectionThatMakesTheServerReset() throws Exception {
    RawClient client = client();
    // Each stream depends on itself, which is an error of the stream.
    flood(
        client,
        i -> {
          int stream = 2 * i + 1;
          byte[] block = RawClient.call("Echo");
          byte[] payload = new byte[5 + block.length];
          RawClient.number(stream, payload, 0);
          System.arraycopy(block, 0, payload, 5, block.length);
          client.quietly(RawClient.HEADERS, RawClient.END_HEADERS | 0x20, stream, payload);
        });
    assertThat(isEnded(client)).isTrue();
  }

  /** Whatever else makes a server reset a stream that it has begun to serve. */
  @ParameterizedTest
  @EnumSource
  void shouldEndAConnectionThatMakesTheServerResetByOtherFrames(Provocation provocation)
      throws Exception {
    RawClient client = client();
    flood(
        client,
        i -> {
          int stream = 2 * i + 1;
          client.quietly(RawClient.HEADERS, RawClient.END_HEADERS, stream, RawClient.call("Wait"));
          provocation.send(client, stream);
        });
    assertThat(isEnded(client)).isTrue();
    assertThat(service.waiting).as("services that were called").hasSizeLessThan(10_000);
  }

  private enum Provocation {
    WINDOW_OPENED_BY_NOTHING {
      @Override
      void send(RawClient client, int stream) throws IOException {
        client.quietly(RawClient.WINDOW_UPDATE, 0, stream, RawClient.number(0));
      }
    },
    WINDOW_THAT_OVERFLOWS {
      @Override
      void send(RawClient client, int stream) throws IOException {
        client.quietly(RawClient.WINDOW_UPDATE, 0, stream, RawClient.number(Integer.MAX_VALUE));
      }
    },
    DATA_BEHIND_THE_END {
      @Override
      void send(RawClient client, int stream) throws IOException {
        client.quietly(RawClient.DATA, RawClient.END_STREAM, stream, new byte[0]);
        client.quietly(RawClient.DATA, 0, stream, new byte[1]);
      }
    },
    PRIORITY_OF_ITSELF {
      @Override
      void send(RawClient client, int stream) throws IOException {
        byte[] payload = new byte[5];
        RawClient.number(stream, payload, 0);
        client.quietly(RawClient.PRIORITY, 0, stream, payload);
      }
    };

    abstract void send(RawClient client, int stream) throws IOException;
  }

  @Test
  void shouldEndAConnectionWhoseHeadersDoNotEnd() throws Exception {
    RawClient client = client();
    client.quietly(RawClient.HEADERS, 0, 1, RawClient.call("Echo"));
    flood(client, i -> client.quietly(RawClient.CONTINUATION, 0, 1, new byte[0]));
    assertThat(isEnded(client)).isTrue();
  }

  @Test
  void shouldEndAConnectionWhoseHeadersGrow() throws Exception {
    RawClient client = client();
    client.quietly(RawClient.HEADERS, 0, 1, RawClient.call("Echo"));
    byte[] field = RawClient.headers("name", "x".repeat(10_000));
    flood(client, i -> client.quietly(RawClient.CONTINUATION, 0, 1, field));
    assertThat(isEnded(client)).isTrue();
  }

  @Test
  void shouldRefuseACallWithTooMuchMetadata() throws Exception {
    RawClient client = client();
    client.frame(
        RawClient.HEADERS,
        RawClient.END_HEADERS,
        1,
        RawClient.call("Echo", "name", "x".repeat(9_000)));
    assertThat(client.awaitEnd(1).type()).isEqualTo(RawClient.HEADERS); // of HTTP: 431
    client.call(3, "Echo", 1);
    assertThat(client.awaitEnd(3).status()).isEqualTo(Status.Code.OK);
  }

  @Test
  void shouldEndAConnectionThatFloodsWithPings() throws Exception {
    RawClient client = client();
    flood(client, i -> client.quietly(RawClient.PING, 0, 0, new byte[8]));
    assertThat(isEnded(client)).isTrue();
  }

  @Test
  void shouldEndAConnectionThatFloodsWithSettingsAndDoesNotRead() throws Exception {
    RawClient client = client();
    // More than the buffers of both sockets hold of answers.
    for (int i = 0; i < 20; i++) {
      flood(client, n -> client.quietly(RawClient.SETTINGS, 0, 0, new byte[0]));
    }
    assertThat(isEnded(client)).isTrue();
  }

  @Test
  void shouldEndAConnectionThatFloodsWithEmptyData() throws Exception {
    RawClient client = client();
    client.quietly(RawClient.HEADERS, RawClient.END_HEADERS, 1, RawClient.call("Echo"));
    flood(client, i -> client.quietly(RawClient.DATA, 0, 1, new byte[0]));
    assertThat(isEnded(client)).isTrue();
  }

  @Test
  void shouldEndAConnectionWhoseWindowOverflows() throws Exception {
    RawClient client = client();
    client.frame(RawClient.WINDOW_UPDATE, 0, 0, RawClient.number(Integer.MAX_VALUE));
    assertGoAway(client, FLOW_CONTROL_ERROR);
  }

  @Test
  void shouldLetAConnectionSendAsMuchAsAStream() throws Exception {
    RawClient client = client(with -> with.streamWindow(1 << 20));
    RawClient.Frame update = client.await(RawClient.WINDOW_UPDATE);
    assertThat(update.stream()).isZero();
    assertThat(update.number(0)).isEqualTo((1 << 20) - 65_535);
  }

  @Test
  void shouldRefuseDataBeyondTheWindow() throws Exception {
    RawClient client = client(with -> with.streamWindow(1000));
    client.quietly(RawClient.SETTINGS, RawClient.ACK, 0, new byte[0]);
    client.quietly(RawClient.HEADERS, RawClient.END_HEADERS, 1, RawClient.call("Deaf"));
    client.frame(RawClient.DATA, 0, 1, RawClient.message(900));
    service.arrived.await();
    client.frame(RawClient.DATA, 0, 1, RawClient.message(900));
    RawClient.Frame end = client.awaitEnd(1);
    assertThat(end.type()).isEqualTo(RawClient.RST_STREAM);
    assertThat(end.number(0)).isEqualTo(FLOW_CONTROL_ERROR);
  }

  @Test
  void shouldCountPadding() throws Exception {
    RawClient client = client();
    client.quietly(RawClient.HEADERS, RawClient.END_HEADERS, 1, RawClient.call("Echo"));
    byte[] padding = new byte[256];
    padding[0] = (byte) 255;
    for (int i = 0; i < 50; i++) {
      client.quietly(RawClient.DATA, RawClient.PADDED, 1, padding);
    }
    client.frame(RawClient.DATA, RawClient.END_STREAM, 1, RawClient.message(3));
    assertThat(client.awaitEnd(1).status()).isEqualTo(Status.Code.OK);
  }

  @Test
  void shouldRefuseMorePaddingThanThereIs() throws Exception {
    RawClient client = client();
    client.quietly(RawClient.HEADERS, RawClient.END_HEADERS, 1, RawClient.call("Echo"));
    client.frame(RawClient.DATA, RawClient.PADDED, 1, new byte[] {9, 0, 0});
    assertGoAway(client, PROTOCOL_ERROR);
  }

  @Test
  void shouldRefuseAFrameLargerThanAllowed() throws Exception {
    RawClient client = client();
    client.quietly(RawClient.HEADERS, RawClient.END_HEADERS, 1, RawClient.call("Echo"));
    client.frame(RawClient.DATA, 0, 1, new byte[16_385]);
    assertGoAway(client, FRAME_SIZE_ERROR);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST / HTTP/1.0\r\n\r\n",
        "PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\nPRI * HTTP/2.0\r\n",
        "PRI * HTTP/2.0\r\n\r\nSMALL",
        "\u0016\u0003\u0001\u0002\u0000\u0001", // TLS
        "\r\n\r\n\u0000\r\nQUIT\n!"
      })
  void shouldSayWhatPortThisIsToWhoDoesNotSpeakHttp2(String begin) throws Exception {
    LoadCounts counts = new LoadCounts();
    client(with -> with.loadListener(counts));
    RawClient web = another();
    for (byte each : begin.getBytes(StandardCharsets.ISO_8859_1)) {
      web.bytes(new byte[] {each});
    }
    assertThat(web.rest())
        .startsWith("HTTP/1.1 400 Bad Request\r\n")
        .contains("Connection: close")
        .contains("this is the gRPC port");
    assertThat(counts.otherProtocol).hasValue(1);
    web.close();
    GrpcContract.await(() -> counts.connections.get() == 1); // the first
    assertServes();
  }

  /** They could not tell the answer from what they wait for. */
  @ParameterizedTest
  @ValueSource(
      strings = {"\u0000", "INVALID CONNECTION PREFACE\r\n\r\n", "SSH-2.0-a\r\n", "GETS /"})
  void shouldCloseWithoutAWordOnOthers(String begin) throws Exception {
    LoadCounts counts = new LoadCounts();
    client(with -> with.loadListener(counts));
    RawClient other = another();
    other.bytes(begin.getBytes(StandardCharsets.ISO_8859_1));
    assertThat(other.rest()).isEmpty();
    assertThat(counts.otherProtocol).hasValue(1);
    GrpcContract.await(() -> counts.connections.get() == 1);
    assertServes();
  }

  @Test
  void shouldForgetOnlySoMuchOfWhatIsNotHttp2() throws Exception {
    LoadCounts counts = new LoadCounts();
    client(with -> with.loadListener(counts));
    RawClient web = another();
    flood(web, i -> web.bytes("GET ".repeat(256).getBytes(StandardCharsets.US_ASCII)));
    RawClient silent = another();
    silent.bytes(new byte[] {'G'});
    assertThat(silent.rest()).contains("this is the gRPC port");
    GrpcContract.await(() -> counts.connections.get() == 1);
  }

  @Test
  void shouldTakeAPrefaceInPieces() throws Exception {
    client();
    RawClient slow = another();
    for (byte each : RawClient.PREFACE) {
      slow.bytes(new byte[] {each});
    }
    slow.frame(RawClient.SETTINGS, 0, 0, new byte[0]);
    slow.call(1, "Echo", 10);
    assertThat(slow.awaitEnd(1).status()).isEqualTo(Status.Code.OK);
  }

  @Test
  void shouldRefuseWhatIsNotGrpc() throws Exception {
    RawClient client = client();
    client.frame(
        RawClient.HEADERS,
        RawClient.END_HEADERS | RawClient.END_STREAM,
        1,
        RawClient.headers(":method", "GET", ":scheme", "http", ":path", "/", ":authority", "a"));
    RawClient.Frame text = client.awaitEnd(1);
    assertThat(text.type()).isEqualTo(RawClient.DATA);
    assertThat(text.text()).isEqualTo("gRPC calls are made by POST");
    client.frame(
        RawClient.HEADERS,
        RawClient.END_HEADERS | RawClient.END_STREAM,
        3,
        RawClient.headers(
            ":method", "POST", ":scheme", "http", ":path", "/", "content-type", "text/html"));
    assertThat(client.awaitEnd(3).text()).isEqualTo("Content-Type 'text/html' is not supported");
  }

  @Test
  void shouldRefuseMalformedMessages() throws Exception {
    RawClient client = client();
    client.quietly(RawClient.HEADERS, RawClient.END_HEADERS, 1, RawClient.call("Echo"));
    client.frame(RawClient.DATA, 0, 1, new byte[] {2, 0, 0, 0, 0});
    assertThat(client.awaitEnd(1).status()).isEqualTo(Status.Code.INTERNAL);
    client.quietly(RawClient.HEADERS, RawClient.END_HEADERS, 3, RawClient.call("Echo"));
    client.frame(RawClient.DATA, RawClient.END_STREAM, 3, new byte[] {0, 0, 0, 0, 9, 1});
    assertThat(client.awaitEnd(3).status()).isEqualTo(Status.Code.INTERNAL);
    client.quietly(RawClient.HEADERS, RawClient.END_HEADERS, 5, RawClient.call("Echo"));
    client.frame(RawClient.DATA, RawClient.END_STREAM, 5, new byte[] {1, 0, 0, 0, 1, 1});
    assertThat(client.awaitEnd(5).status()).isEqualTo(Status.Code.INTERNAL);
  }

  @Test
  void shouldRefuseUnknownCompressionAndTimeouts() throws Exception {
    RawClient client = client();
    client.frame(
        RawClient.HEADERS,
        RawClient.END_HEADERS,
        1,
        RawClient.call("Echo", "grpc-encoding", "snappy"));
    assertThat(client.awaitEnd(1).status()).isEqualTo(Status.Code.UNIMPLEMENTED);
    client.frame(
        RawClient.HEADERS, RawClient.END_HEADERS, 3, RawClient.call("Echo", "grpc-timeout", "x"));
    assertThat(client.awaitEnd(3).status()).isEqualTo(Status.Code.INVALID_ARGUMENT);
  }

  @Test
  void shouldRefuseWhatIsNotCompressedAsItSays() throws Exception {
    RawClient client = client();
    client.quietly(
        RawClient.HEADERS,
        RawClient.END_HEADERS,
        1,
        RawClient.call("Echo", "grpc-encoding", "gzip"));
    client.frame(RawClient.DATA, RawClient.END_STREAM, 1, new byte[] {1, 0, 0, 0, 3, 7, 8, 9});
    RawClient.Frame end = client.awaitEnd(1);
    assertThat(end.status()).isEqualTo(Status.Code.INVALID_ARGUMENT);
    client.call(3, "Echo", 1);
    assertThat(client.awaitEnd(3).status()).isEqualTo(Status.Code.OK);
  }

  @Test
  void shouldCountLargeMessagesWhileTheyArrive() throws Exception {
    budget.limit = 16 << 20; // of which one address may have 12 MiB
    RawClient client = client();
    byte[] announced = {0, 0x0F, 0, 0, 0}; // 251,658,240 bytes
    for (int i = 0; i < 12; i++) {
      int stream = 2 * i + 1;
      client.quietly(RawClient.HEADERS, RawClient.END_HEADERS, stream, RawClient.call("Echo"));
      client.frame(RawClient.DATA, 0, stream, announced);
    }
    client.quietly(RawClient.HEADERS, RawClient.END_HEADERS, 25, RawClient.call("Echo"));
    client.frame(RawClient.DATA, 0, 25, announced);
    assertThat(client.awaitEnd(25).status()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    assertThat(budget.most.get()).isBetween(12L << 20, (12L << 20) + (256 << 10));

    client.frame(RawClient.RST_STREAM, 0, 1, RawClient.number(8));
    client.quietly(RawClient.HEADERS, RawClient.END_HEADERS, 27, RawClient.call("Gather"));
    client.quietly(RawClient.DATA, 0, 27, new byte[] {0, 0, 1, 0, 1});
    for (int i = 0; i < 4; i++) {
      client.quietly(RawClient.DATA, 0, 27, new byte[16_384]);
    }
    client.frame(RawClient.DATA, RawClient.END_STREAM, 27, new byte[1]);
    assertThat(client.awaitEnd(27).status()).isEqualTo(Status.Code.OK);
  }

  @Test
  void shouldEndACallWhoseMessageHasStoppedArriving() throws Exception {
    RawClient client = client(with -> with.stalledMessageTimeout(300, TimeUnit.MILLISECONDS));
    client.quietly(RawClient.HEADERS, RawClient.END_HEADERS, 1, RawClient.call("Echo"));
    client.frame(RawClient.DATA, 0, 1, new byte[] {0, 0, 1, 0, 0, 7});
    assertThat(client.awaitEnd(1).status()).isEqualTo(Status.Code.DEADLINE_EXCEEDED);
  }

  @Test
  void shouldCloseOnWhoDoesNotBegin() throws Exception {
    client(with -> with.handshakeTimeout(300, TimeUnit.MILLISECONDS));
    RawClient silent = another();
    assertThat(isEnded(silent)).isTrue();
    RawClient slow = another();
    slow.bytes(Arrays.copyOf(RawClient.PREFACE, 10));
    assertThat(isEnded(slow)).isTrue();
  }

  @Test
  void shouldHoldNoAnswerOfAServiceThatThrows() throws Exception {
    RawClient client = client();
    client.call(1, "Throw", 3);
    RawClient.Frame end = client.awaitEnd(1);
    assertThat(end.status()).isEqualTo(Status.Code.UNKNOWN);
    // Leaks are looked for when each test has ended.
  }

  @Test
  void shouldRefuseMoreCallsThanAllowed() throws Exception {
    RawClient client = client(with -> with.maxCalls(2));
    for (int stream : new int[] {1, 3}) {
      client.frame(RawClient.HEADERS, RawClient.END_HEADERS, stream, RawClient.call("Chat"));
    }
    client.pingAndAwaitAnswer();
    RawClient other = another().settings();
    assertThat(isRefused(other)).isTrue();
    client.frame(RawClient.RST_STREAM, 0, 3, RawClient.number(8));
    GrpcContract.await(() -> !isRefused(other));
    client.close();
  }

  /** Makes another call on a connection. */
  private boolean isRefused(RawClient client) {
    int stream = nextStream;
    nextStream += 2;
    try {
      client.call(stream, "Echo", 1);
      return client.awaitEnd(stream).status() == Status.Code.RESOURCE_EXHAUSTED;
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void shouldTakeNoMoreConnectionsThanAllowed() throws Exception {
    RawClient client = client(with -> with.maxConnections(2));
    client.call(1, "Echo", 1);
    client.awaitEnd(1);
    RawClient second = another().settings();
    second.call(1, "Echo", 1);
    second.awaitEnd(1);
    assertThat(isEnded(another())).isTrue();
    second.close();
    GrpcContract.await(this::serves);
    clients.forEach(
        each -> {
          try {
            each.close();
          } catch (IOException e) {
            throw new IllegalStateException(e);
          }
        });
    GrpcContract.await(this::serves);
  }

  private boolean serves() {
    try {
      assertServes();
      return true;
    } catch (IOException full) {
      return false;
    }
  }
}

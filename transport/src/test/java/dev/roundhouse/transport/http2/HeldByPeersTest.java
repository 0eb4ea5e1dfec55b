package dev.roundhouse.transport.http2;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.transport.io.Leaks;
import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.transport.memory.PeerMemory;
import io.grpc.Server;
import io.grpc.Status;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * What peers make a server keep without any call of theirs being answered: all of it is counted,
 * bounded, and given back when they go.
 */
@Timeout(120)
class HeldByPeersTest {
  private static final int MIB = 1 << 20;
  private static final int MAX_FRAME = 1 << 14;

  private final TestService service = new TestService();
  private final CountingRoot root = new CountingRoot();
  private final PeerMemory account = new PeerMemory(root);
  private final List<RawClient> clients = new ArrayList<>();
  private Server server;

  @BeforeEach
  void start() throws IOException {
    root.limit = 64 * MIB;
    server =
        Http2ServerBuilder.forAddress(GrpcContract.ANY_PORT)
            .peerMemory(account)
            .maxInboundMessageSize(256 * MIB)
            .streamWindow(8 * MIB)
            .addService(service.definition())
            .build()
            .start();
  }

  @AfterEach
  void stop() throws Exception {
    for (RawClient client : clients) {
      client.close();
    }
    service.letGo();
    GrpcContract.await(() -> account.held() == 0);
    for (Kept kind : Kept.values()) {
      assertThat(account.held(kind)).as(kind.label()).isZero();
    }
    RawClient other = client();
    other.call(1, "Echo", 10);
    assertThat(other.awaitEnd(1).status()).isEqualTo(Status.Code.OK);
    other.close();
    assertThat(server.shutdownNow().awaitTermination(10, TimeUnit.SECONDS)).isTrue();
    Leaks.awaitNone();
  }

  private RawClient client() throws IOException {
    RawClient client = new RawClient(server.getPort()).settings();
    clients.add(client);
    client.await(RawClient.SETTINGS);
    client.frame(RawClient.SETTINGS, RawClient.ACK, 0, new byte[0]); // its windows count from here
    return client;
  }

  private static void begin(RawClient client, int stream, String method, String... more)
      throws IOException {
    client.quietly(RawClient.HEADERS, RawClient.END_HEADERS, stream, RawClient.call(method, more));
  }

  private static void data(RawClient client, int stream, byte[] data) throws IOException {
    for (int at = 0; at < data.length; at += MAX_FRAME) {
      byte[] part = Arrays.copyOfRange(data, at, Math.min(data.length, at + MAX_FRAME));
      client.frame(RawClient.DATA, 0, stream, part);
    }
  }

  /** A message of so many zeros, compressed. */
  private static byte[] bomb(int bytes) throws IOException {
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    packed.writeBytes(new byte[5]);
    try (GZIPOutputStream gzip = new GZIPOutputStream(packed)) {
      byte[] zeros = new byte[MIB];
      for (int left = bytes; left > 0; left -= zeros.length) {
        gzip.write(zeros, 0, Math.min(left, zeros.length));
      }
    }
    byte[] framed = packed.toByteArray();
    framed[0] = 1;
    RawClient.number(framed.length - 5, framed, 1);
    return framed;
  }

  @Test
  void shouldCountWhatComesOutOfCompressedRequestsThatAreNotEnded() throws Exception {
    RawClient client = client();
    byte[] bomb = bomb(8 * MIB);
    for (int i = 0; i < 12; i++) {
      begin(client, 2 * i + 1, "Echo", "grpc-encoding", "gzip");
      data(client, 2 * i + 1, bomb);
    }
    RawClient.Frame refused = client.await(RawClient.HEADERS);
    assertThat(refused.status()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    GrpcContract.await(() -> account.held(Kept.INFLATED) >= 16 * MIB);
    assertThat(root.most.get()).isLessThanOrEqualTo(64 * MIB);
  }

  @Test
  void shouldAnswerACompressedRequestThatIsUncompressedInTurns() throws Exception {
    RawClient client = client();
    begin(client, 1, "Gather", "grpc-encoding", "gzip");
    data(client, 1, bomb(5 * MIB));
    data(client, 1, bomb(3));
    client.frame(RawClient.DATA, RawClient.END_STREAM, 1, new byte[0]);
    RawClient.Frame answer = client.await(RawClient.DATA);
    assertThat(answer.text().substring(5)).isEqualTo(Integer.toString(5 * MIB + 3));
    assertThat(client.awaitEnd(1).status()).isEqualTo(Status.Code.OK);
  }

  @Test
  void shouldRefuseWhatIsLargerThanAMessageOnceItIsUncompressed() throws Exception {
    root.limit = 4096L * MIB;
    RawClient client = client();
    begin(client, 1, "Echo", "grpc-encoding", "gzip");
    data(client, 1, bomb(257 * MIB));
    RawClient.Frame end = client.awaitEnd(1);
    assertThat(end.status()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    assertThat(String.valueOf(end.headers())).contains("exceeds maximum size 268435456");
  }

  @Test
  void shouldCountMessagesWithoutAByteThatNobodyTakes() throws Exception {
    RawClient client = client();
    begin(client, 1, "Deaf");
    for (int i = 0; i < 450; i++) {
      client.quietly(RawClient.DATA, 0, 1, new byte[5 * 3000]);
    }
    client.frame(RawClient.DATA, 0, 1, new byte[5]);
    RawClient.Frame end = client.awaitEnd(1);
    assertThat(end.type()).as("code " + (end.type() == 3 ? end.number(0) : 0)).isEqualTo(1);
    assertThat(end.status()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    assertThat(root.most.get()).isBetween(40L * MIB, 48L * MIB + (64 << 10));
  }

  @Test
  void shouldBoundCallsByTheirMetadataAndServeOthers() throws Exception {
    String[] metadata = {"x-large", "v".repeat(7000)};
    int open = 0;
    for (int connection = 0; connection < 3; connection++) {
      RawClient client = client();
      for (int i = 0; i < 1000; i++) {
        begin(client, 2 * i + 1, "Deaf", metadata);
      }
      client.pings(1);
      open += 1000;
    }
    assertThat(open).isEqualTo(3000);
    GrpcContract.await(() -> account.refusedEver(Kept.CALL) > 500);
    assertThat(account.held(Kept.CALL)).isBetween(8L * MIB, 12L * MIB);
  }

  @Test
  void shouldNotListenToWhoReadsNoRefusals() throws Exception {
    RawClient client = client();
    AtomicInteger sent = new AtomicInteger();
    Thread sender =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    for (int i = 0; i < 1_000_000; i++) {
                      client.quietly(
                          RawClient.HEADERS,
                          RawClient.END_HEADERS | RawClient.END_STREAM,
                          2 * i + 1,
                          RawClient.call("none-" + i + "x".repeat(200)));
                      sent.incrementAndGet();
                    }
                  } catch (IOException e) { // it was closed meanwhile
                    sent.incrementAndGet();
                  }
                });
    awaitStanding(sent);
    assertThat(account.held(Kept.REFUSAL)).isBetween(1L, 8L * MIB);
    client.close();
    sender.join();
  }

  /** Waits until a count that has begun to grow does not grow any more. */
  private static void awaitStanding(AtomicInteger count) {
    long[] since = {System.nanoTime()};
    int[] seen = {0};
    GrpcContract.await(
        () -> {
          if (seen[0] != count.get()) {
            seen[0] = count.get();
            since[0] = System.nanoTime();
          }
          return seen[0] > 0 && System.nanoTime() - since[0] > TimeUnit.MILLISECONDS.toNanos(500);
        });
  }

  @Test
  void shouldEndIdleStreamsOfTheGreediestWhenAnotherIsRefused() throws Exception {
    // calls have the least that there is, 4 MiB, and one address three quarters of it
    root.limit = 8 * MIB;
    RawClient greedy = client();
    for (int i = 0; i < 450; i++) {
      begin(greedy, 2 * i + 1, "Chat");
    }
    greedy.pingAndAwaitAnswer();
    RawClient second = client();
    for (int i = 0; i < 450; i++) {
      begin(second, 2 * i + 1, "Chat");
    }
    second.pings(1);
    assertThat(second.await(RawClient.HEADERS).status()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    assertThat(greedy.await(RawClient.HEADERS).status())
        .as("it has carried nothing, and another was refused")
        .isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    GrpcContract.await(() -> account.held(Kept.CALL) < account.standingLimit() / 2);
    RawClient later = client();
    later.call(1, "Echo", 10);
    assertThat(later.awaitEnd(1).status()).isEqualTo(Status.Code.OK);
  }
}

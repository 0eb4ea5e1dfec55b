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
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Conversations that are damaged here and there: the server may end them, must serve others, and
 * holds nothing of them afterwards. {@code -Dframes.rounds=10000} has so many of them, {@code
 * -Dframes.seed=7} the same ones again; {@code ./roundhouse test --fuzz} sets the first.
 */
class FrameFuzzTest {
  /** Netty notes there what it ignores. */
  private static final Logger NETTY = Logger.getLogger("io.netty.handler.codec.http2");

  /** The server must answer another client as often as this. */
  private static final int ROUNDS_BETWEEN_LOOKS = 500;

  private final long seed = Long.getLong("frames.seed", System.nanoTime());
  private final int rounds = Integer.getInteger("frames.rounds", 1500);
  private final Random random = new Random(seed);
  private final CountingRoot budget = new CountingRoot();

  @BeforeAll
  static void silence() {
    NETTY.setLevel(Level.WARNING);
  }

  @Test
  void shouldSurviveAnyBytes() throws Exception {
    Server server =
        Http2ServerBuilder.forAddress(GrpcContract.ANY_PORT)
            .peerMemory(new PeerMemory(budget))
            .maxInboundMessageSize(256 << 20)
            .addService(new TestService().definition())
            .build()
            .start();
    int ended = 0;
    for (int round = 0; round < rounds; round++) {
      try (RawClient client = new RawClient(server.getPort())) {
        send(client, conversation());
      } catch (SocketException closed) {
        ended++; // the server has seen enough
      }
      if (round % ROUNDS_BETWEEN_LOOKS == 0) {
        assertServes(server, round);
      }
    }
    assertServes(server, rounds);
    assertThat(server.shutdownNow().awaitTermination(10, TimeUnit.SECONDS)).isTrue();
    Leaks.awaitNone();
    assertThat(budget.held.get()).as("seed %d", seed).isZero();
    System.out.printf(
        "fuzz of frames: seed %d, executions %d, taken to their end %d, ended by the server %d, bytes held %d%n",
        seed, rounds, rounds - ended, ended, budget.held.get());
  }

  private void assertServes(Server server, int round) throws IOException {
    try (RawClient client = new RawClient(server.getPort()).settings()) {
      client.call(1, "Echo", 10);
      assertThat(client.awaitEnd(1).status())
          .as("seed %d, round %d", seed, round)
          .isEqualTo(Status.Code.OK);
    }
  }

  private void send(RawClient client, byte[] bytes) throws IOException {
    int sent = 0;
    while (sent < bytes.length) {
      int next = Math.min(bytes.length, sent + 1 + random.nextInt(bytes.length));
      client.bytes(Arrays.copyOfRange(bytes, sent, next));
      sent = next;
    }
    if (random.nextInt(4) == 0) {
      client.shutdownOutput();
      try {
        while (true) {
          client.read();
        }
      } catch (EOFException end) {
        return;
      }
    }
  }

  /** What a client may say, changed here and there. */
  private byte[] conversation() {
    var all = new ByteArrayOutputStream();
    all.writeBytes(RawClient.PREFACE);
    all.writeBytes(RawClient.frameBytes(RawClient.SETTINGS, 0, 0, new byte[0]));
    String[] methods = {"Echo", "Fail", "Throw", "Chat", "Flood", "Gather", "None"};
    int calls = 1 + random.nextInt(5);
    for (int i = 0; i < calls; i++) {
      int stream = 2 * i + 1;
      String method = methods[random.nextInt(methods.length)];
      all.writeBytes(
          RawClient.frameBytes(
              RawClient.HEADERS, RawClient.END_HEADERS, stream, RawClient.call(method)));
      int messages = random.nextInt(3);
      for (int m = 0; m <= messages; m++) {
        byte[] message = RawClient.message(random.nextInt(2000));
        int cut = random.nextInt(message.length);
        all.writeBytes(
            RawClient.frameBytes(RawClient.DATA, 0, stream, Arrays.copyOf(message, cut)));
        all.writeBytes(
            RawClient.frameBytes(
                RawClient.DATA,
                m == messages ? RawClient.END_STREAM : 0,
                stream,
                Arrays.copyOfRange(message, cut, message.length)));
      }
      if (random.nextInt(3) == 0) {
        byte[] payload = new byte[random.nextInt(20)];
        random.nextBytes(payload);
        all.writeBytes(
            RawClient.frameBytes(
                random.nextInt(11), random.nextInt(64), random.nextInt(9), payload));
      }
    }
    byte[] bytes = all.toByteArray();
    int changes = random.nextInt(6);
    for (int i = 0; i < changes; i++) {
      bytes[RawClient.PREFACE.length + random.nextInt(bytes.length - RawClient.PREFACE.length)] =
          (byte) random.nextInt();
    }
    return random.nextInt(5) == 0 ? Arrays.copyOf(bytes, random.nextInt(bytes.length) + 1) : bytes;
  }
}

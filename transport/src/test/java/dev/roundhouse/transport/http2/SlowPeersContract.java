package dev.roundhouse.transport.http2;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.transport.io.Leaks;
import dev.roundhouse.transport.io.StallWatch;
import dev.roundhouse.transport.memory.PeerMemory;
import io.grpc.Server;
import io.grpc.ServerBuilder;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import java.io.IOException;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Clients that send or read next to nothing are ended, and what they held is given back. */
@Timeout(120)
public abstract class SlowPeersContract {
  private static final int ENHANCE_YOUR_CALM = 11;

  /** Between two bytes of a client that trickles: many in the time that it is allowed. */
  private static final int TRICKLE_MILLIS = 20;

  int allowedMillis = 300;
  final TestService service = new TestService();
  final CountingRoot budget = new CountingRoot();
  private final LoadCounts load = new LoadCounts();
  private final List<RawClient> clients = new ArrayList<>();
  private @Nullable Server server;

  @AfterEach
  void stop() throws Exception {
    RawClient other = client();
    other.call(1, "Echo", 10);
    assertThat(other.awaitEnd(1).status()).isEqualTo(Status.Code.OK);
    for (RawClient client : clients) {
      client.close();
    }
    if (server != null) {
      assertThat(server.shutdownNow().awaitTermination(10, TimeUnit.SECONDS)).isTrue();
    }
    Leaks.awaitNone();
    assertThat(budget.held.get()).isZero();
  }

  /** A server whose clients these are. */
  protected abstract ServerBuilder<?> serving(
      Http2ServerBuilder with, ServerServiceDefinition service);

  final RawClient client() throws IOException {
    if (server == null) {
      server =
          serving(
                  Http2ServerBuilder.forAddress(GrpcContract.ANY_PORT)
                      .peerMemory(new PeerMemory(budget))
                      .loadListener(load)
                      .maxInboundMessageSize(256 << 20)
                      .stalledMessageTimeout(allowedMillis, TimeUnit.MILLISECONDS)
                      .unreadAnswerTimeout(allowedMillis, TimeUnit.MILLISECONDS),
                  service.definition())
              .build()
              .start();
    }
    RawClient client = new RawClient(server.getPort());
    clients.add(client);
    return client.settings();
  }

  /** A client whose streams may be sent so many bytes, and no more. */
  final RawClient clientWithWindow(int bytes) throws IOException {
    RawClient client = client();
    byte[] setting = new byte[6];
    setting[1] = 4;
    RawClient.number(bytes, setting, 2);
    client.frame(RawClient.SETTINGS, 0, 0, setting);
    return client;
  }

  /** Sends byte by byte until the connection is closed; false when all of them were taken. */
  private static boolean isClosedWhileTrickling(RawClient client, byte[] bytes) throws Exception {
    try {
      for (byte each : bytes) {
        client.bytes(new byte[] {each});
        Thread.sleep(TRICKLE_MILLIS);
      }
      return false;
    } catch (SocketException closed) {
      return true;
    }
  }

  @Test
  void shouldCloseOnAFrameThatTrickles() throws Exception {
    RawClient client = client();
    byte[] headers =
        RawClient.frameBytes(
            RawClient.HEADERS,
            RawClient.END_HEADERS,
            1,
            RawClient.call("Echo", "name", "x".repeat(1000)));
    assertThat(isClosedWhileTrickling(client, headers)).isTrue();
    assertThat(load.stalled).hasValue(1);
  }

  @Test
  void shouldSayWhyWhenAFrameHasStoppedArriving() throws Exception {
    RawClient client = client();
    byte[] headers =
        RawClient.frameBytes(RawClient.HEADERS, RawClient.END_HEADERS, 1, RawClient.call("Echo"));
    client.bytes(Arrays.copyOf(headers, headers.length - 1));
    RawClient.Frame goAway = client.await(RawClient.GOAWAY);
    assertThat(goAway.number(4)).isEqualTo(ENHANCE_YOUR_CALM);
    assertThat(goAway.text()).endsWith("a frame has stopped arriving");
    client.awaitClosed();
  }

  @Test
  void shouldCloseOnHeadersThatDoNotEnd() throws Exception {
    RawClient client = client();
    client.frame(RawClient.HEADERS, 0, 1, RawClient.call("Echo"));
    assertThat(client.awaitClosed()).isTrue();
  }

  @Test
  void shouldEndACallWhoseMessageTrickles() throws Exception {
    RawClient client = client();
    client.quietly(RawClient.HEADERS, RawClient.END_HEADERS, 1, RawClient.call("Echo"));
    byte[] message = RawClient.message(StallWatch.LEAST_BYTES);
    Thread.ofVirtual()
        .start(
            () -> {
              try {
                for (byte each : message) {
                  client.frame(RawClient.DATA, 0, 1, new byte[] {each});
                  Thread.sleep(TRICKLE_MILLIS);
                }
              } catch (IOException | InterruptedException over) {
                return; // the test has ended
              }
            });
    assertThat(client.awaitEnd(1).status()).isEqualTo(Status.Code.DEADLINE_EXCEEDED);
  }

  @Test
  void shouldEndACallWhoseOnlyMessageDoesNotCome() throws Exception {
    RawClient client = client();
    client.frame(RawClient.HEADERS, RawClient.END_HEADERS, 1, RawClient.call("Echo"));
    assertThat(client.awaitEnd(1).status()).isEqualTo(Status.Code.DEADLINE_EXCEEDED);
  }

  @Test
  void shouldEndACallThatIsNotSaidToBeComplete() throws Exception {
    RawClient client = client();
    client.quietly(RawClient.HEADERS, RawClient.END_HEADERS, 1, RawClient.call("Echo"));
    client.frame(RawClient.DATA, 0, 1, RawClient.message(100));
    assertThat(client.awaitEnd(1).status()).isEqualTo(Status.Code.DEADLINE_EXCEEDED);
  }

  @Test
  void shouldLeaveAStreamThatIsIdle() throws Exception {
    RawClient client = client();
    client.quietly(RawClient.HEADERS, RawClient.END_HEADERS, 1, RawClient.call("Chat"));
    client.frame(RawClient.DATA, 0, 1, RawClient.message(7));
    client.frame(RawClient.HEADERS, RawClient.END_HEADERS, 3, RawClient.call("Echo"));
    assertThat(client.awaitEnd(3).status()).isEqualTo(Status.Code.DEADLINE_EXCEEDED);
    client.frame(RawClient.DATA, RawClient.END_STREAM, 1, RawClient.message(7));
    assertThat(client.awaitEnd(1).status()).isEqualTo(Status.Code.OK);
    assertThat(load.stalled).hasValue(1);
  }

  @Test
  void shouldGiveUpAnAnswerThatIsNotRead() throws Exception {
    RawClient client = clientWithWindow(0);
    client.call(1, "Echo", 1000);
    RawClient.Frame end = client.awaitEnd(1);
    assertThat(end.type()).isEqualTo(RawClient.RST_STREAM);
    assertThat(end.number(0)).isEqualTo(ENHANCE_YOUR_CALM);
    client.call(3, "Fail", 0);
    assertThat(client.awaitEnd(3).status()).isEqualTo(Status.Code.ABORTED);
    assertThat(load.stalled).hasValue(1);
  }

  @Test
  void shouldGiveUpAnAnswerThatIsReadByteByByte() throws Exception {
    RawClient client = clientWithWindow(1);
    client.call(1, "Echo", 1000);
    RawClient.Frame frame = client.read();
    while (frame.type() != RawClient.RST_STREAM) {
      if (frame.type() == RawClient.DATA) {
        assertThat(frame.flags() & RawClient.END_STREAM).isZero();
        Thread.sleep(TRICKLE_MILLIS);
        client.frame(RawClient.WINDOW_UPDATE, 0, 1, RawClient.number(1));
      }
      frame = client.read();
    }
    assertThat(frame.number(0)).isEqualTo(ENHANCE_YOUR_CALM);
  }

  @Test
  void shouldGiveUpOnlyTheAnswersThatAreNotRead() throws Exception {
    RawClient client = clientWithWindow(0);
    client.call(1, "Echo", 1000);
    client.call(3, "Wait", 1000);
    service.arrived.await();
    assertThat(client.awaitEnd(1).type()).isEqualTo(RawClient.RST_STREAM);
    client.frame(RawClient.WINDOW_UPDATE, 0, 3, RawClient.number(1 << 20));
    service.letGo();
    assertThat(client.awaitEnd(3).status()).isEqualTo(Status.Code.OK);
  }

  @Test
  void shouldCloseAConnectionWhoseSocketIsNotRead() throws Exception {
    RawClient client = clientWithWindow(1 << 30);
    client.frame(RawClient.WINDOW_UPDATE, 0, 0, RawClient.number(1 << 30));
    client.quietly(RawClient.HEADERS, RawClient.END_HEADERS, 1, RawClient.call("Flood"));
    // More than the buffers of both sockets hold.
    client.frame(RawClient.DATA, RawClient.END_STREAM, 1, RawClient.message(10_000));
    GrpcContract.await(() -> load.connections.get() == 1);
    GrpcContract.await(() -> load.connections.get() == 0 && load.calls.get() == 0);
    assertThat(service.flooded.get()).isLessThan(10_000);
    GrpcContract.await(() -> service.cancelled.get() == 1);
  }
}

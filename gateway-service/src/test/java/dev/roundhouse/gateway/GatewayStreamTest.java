package dev.roundhouse.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.gateway.stream.StreamCounts.End;
import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.kserve.tstream.ServerReply;
import dev.roundhouse.kserve.tstream.StreamOption;
import dev.roundhouse.transport.memory.Kept;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a stream passes on, and how it ends. */
@Timeout(180)
class GatewayStreamTest extends StreamsThroughGateway {
  @ParameterizedTest
  @ValueSource(strings = {"left", "right"})
  void shouldPassEveryByteBothWays(String model) throws Exception {
    FakeStreams worker = of(model.equals("left") ? "w0" : "w1");
    byte[] there = random(LARGE, 1);
    byte[] back = random(LARGE, 2);
    ClientHello hello =
        new ClientHello(
            1, 3, Set.of(StreamOption.DEADLINE), 9, 2, 0, model, "4", "T=8", "", "", "", PAIR);
    long complete = ended(End.COMPLETE);
    boolean isLocal = model.equals("right");
    try (Line client = isLocal ? Line.to(folder.resolve("s")) : connect()) {
      ServerReply reply = client.greet(hello);
      assertThat(reply).isEqualTo(agreed(hello));
      assertThat(worker.hellos.getLast().saying("")).isEqualTo(hello);
      Line at = worker.next();
      CompletableFuture<byte[]> arrived = later(() -> at.read(LARGE));
      CompletableFuture<Line> sent = later(() -> at.send(back, new Random(4), 200_000));
      CompletableFuture<Line> sending = later(() -> client.send(there, new Random(5), 200_000));
      assertThat(client.read(LARGE)).isEqualTo(back);
      assertThat(arrived.get(60, TimeUnit.SECONDS)).isEqualTo(there);
      sending.get(60, TimeUnit.SECONDS);
      sent.get(60, TimeUnit.SECONDS);

      client.halfClose();
      assertThat(at.isOver()).isTrue();
      at.send(new byte[] {1, 2, 3}).close();
      assertThat(client.read(3)).containsExactly(1, 2, 3);
      assertThat(client.isOver()).isTrue();
    }
    RunningGateway.await("it has ended", () -> ended(End.COMPLETE) == complete + 1);
  }

  @Test
  void shouldSendOnWhatComesInOnePieceWithTheHello() throws Exception {
    byte[] first = random(20_000, 7);
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    all.writeBytes(hello("left").encoded());
    all.writeBytes(first);
    try (Line client = connect()) {
      client.send(all.toByteArray()).halfClose();
      client.reply();
      try (Line at = s0.next()) {
        assertThat(at.read(first.length)).isEqualTo(first);
        assertThat(at.isOver()).isTrue();
      }
      assertThat(client.isOver()).isTrue();
    }
  }

  @Test
  void shouldTakeAHelloByteByByte() throws Exception {
    try (Line client = connect()) {
      client.send(hello("left").encoded(), new Random(1), 1);
      assertThat(client.reply().status()).isEqualTo(HelloStatus.OK);
      s0.next().close();
    }
  }

  @Test
  void shouldSpreadStreamsAndCountThemAsWorkOfTheirWorkers() throws Exception {
    List<Line> lines = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      Line client = connect();
      lines.add(client);
      assertThat(client.greet(hello("both")).status()).isEqualTo(HelloStatus.OK);
    }
    assertThat(s0.hellos).hasSize(4);
    assertThat(s1.hellos).hasSize(4);
    assertThat(routes().ledger("w0").open()).isEqualTo(4);
    assertThat(counts().open()).isEqualTo(8);
    for (Line each : lines) {
      each.close();
    }
    for (int i = 0; i < 8; i++) {
      try (Line at = (i < 4 ? s0 : s1).next()) {
        assertThat(at.isOver()).isTrue();
      }
    }
  }

  // --- ends

  @Test
  void shouldEndAStreamWhoseWorkerHasEnded() throws Exception {
    try (Line client = connect()) {
      client.greet(hello("left"));
      s0.next().send(new byte[] {1}).close();
      assertThat(client.read(1)).containsExactly(1);
      assertThat(client.isOver()).isTrue();
      RunningGateway.await("the client does not hold it", () -> counts().connections() == 0);
    }
  }

  @Test
  void shouldPassOnAResetOfTheClient() throws Exception {
    long before = ended(End.CLIENT_LOST);
    Line client = connect();
    client.greet(hello("left"));
    try (Line at = s0.next()) {
      client.send(new byte[] {1});
      at.read(1);
      client.abort();
      assertThatThrownBy(at::isOver).hasMessageContaining("reset");
    }
    RunningGateway.await("it is counted", () -> ended(End.CLIENT_LOST) == before + 1);
  }

  @Test
  void shouldPassOnAResetOfTheWorkerAndCountItAgainstIt() throws Exception {
    long before = ended(End.WORKER_LOST);
    try (Line client = connect()) {
      client.greet(hello("left"));
      Line at = s0.next();
      client.send(new byte[] {1});
      at.read(1);
      at.abort();
      assertThatThrownBy(client::isOver).hasMessageContaining("reset");
    }
    RunningGateway.await("it is counted", () -> ended(End.WORKER_LOST) == before + 1);
    RunningGateway.await("the worker's calls say so", () -> routes().calls("w0").failed() > 0);
  }

  @Test
  void shouldNoticeAResetOfAClientThatIsNotRead() throws Exception {
    Line client = connect();
    client.greet(hello("left"));
    try (Line at = s0.next()) {
      CompletableFuture<?> sending =
          CompletableFuture.runAsync(
              () -> {
                try {
                  client.send(new byte[LARGE * 4]);
                } catch (IOException e) {
                  // it ends in the middle
                }
              },
              Thread::startVirtualThread);
      RunningGateway.await("the gateway waits", () -> held(Kept.MESSAGE) > 0);
      client.abort();
      sending.get(60, TimeUnit.SECONDS);
      assertThatThrownBy(() -> at.read(LARGE * 4)).isInstanceOf(IOException.class);
    }
  }
}

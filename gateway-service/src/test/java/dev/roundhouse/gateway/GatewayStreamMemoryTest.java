package dev.roundhouse.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.gateway.route.ModelRoutes;
import dev.roundhouse.gateway.stream.StreamCounts.End;
import dev.roundhouse.gateway.stream.StreamGate;
import dev.roundhouse.transport.forward.ForwardingBudget;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.transport.memory.MemoryRoot;
import dev.roundhouse.transport.memory.PeerMemory;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a gateway holds for those who do not read. */
@Timeout(180)
class GatewayStreamMemoryTest extends StreamsThroughGateway {
  @Test
  void shouldHoldLittleForAClientThatDoesNotRead() throws Exception {
    try (Line client = connect()) {
      client.greet(hello("left"));
      Line at = s0.next();
      long before = counts().fromWorkers();
      byte[] all = random(LARGE * 4, 11);
      CompletableFuture<Line> sending = later(() -> at.send(all));
      RunningGateway.await("the client is waited for", () -> held(Kept.ANSWER) > 0);
      AtomicLong last = new AtomicLong(-1);
      long quiet = System.nanoTime() + 300_000_000;
      while (System.nanoTime() < quiet) { // nothing more is read once the sockets are full
        long now = counts().fromWorkers();
        if (last.getAndSet(now) != now) {
          quiet = System.nanoTime() + 300_000_000;
        }
        Thread.onSpinWait();
      }
      assertThat(sending).isNotDone();
      assertThat(counts().fromWorkers() - before).isLessThan(all.length - LARGE);
      assertThat(held(Kept.ANSWER)).isBetween(1L, 1L << 18);

      assertThat(client.read(all.length)).isEqualTo(all);
      assertThat(sending.get(60, TimeUnit.SECONDS)).isNotNull();
      at.close();
      assertThat(client.isOver()).isTrue();
    }
  }

  @Test
  void shouldHoldLittleForAWorkerThatDoesNotRead() throws Exception {
    try (Line client = connect()) {
      client.greet(hello("right"));
      try (Line at = s1.next()) {
        byte[] all = random(LARGE, 12);
        CompletableFuture<Line> sending = later(() -> client.send(all));
        RunningGateway.await("the worker is waited for", () -> held(Kept.MESSAGE) > 0);
        assertThat(held(Kept.MESSAGE)).isLessThan(1L << 18);
        assertThat(at.read(all.length)).isEqualTo(all);
        sending.get(60, TimeUnit.SECONDS);
      }
    }
  }

  @Test
  void shouldTakeAThousandIdleConnectionsInBoundedMemory() throws Exception {
    long before = held(Kept.CONNECTION);
    List<Line> lines = new ArrayList<>();
    for (int i = 0; i < 1_000; i++) {
      Line client = connect();
      lines.add(client);
      if (i % 10 == 0) {
        client.greet(hello("left"));
      }
    }
    RunningGateway.await("all are there", () -> counts().connections() == 1_000);
    assertThat(held(Kept.CONNECTION) - before).isEqualTo(1_000 * StreamGate.CONNECTION_BYTES);
    try (Line another = connect()) {
      another.greet(hello("left"));
      lines.add(s0.next());
    }
    for (Line each : lines) {
      each.close();
    }
    for (int i = 0; i < 100; i++) {
      s0.next().close();
    }
    RunningGateway.await(
        "all are gone", () -> counts().connections() == 0 && held(Kept.CONNECTION) == before);
  }

  @Test
  void shouldEndAStreamWhoseClientDoesNotReadWhenOthersNeedTheMemory() throws Exception {
    long before = ended(End.RELIEVED);
    MemoryRoot root = gateway.bean(ForwardingBudget.class).root();
    try (Line client = connect()) {
      client.greet(hello("left"));
      Line at = s0.next();
      CompletableFuture<?> sending = sending(at);
      RunningGateway.await("the client is waited for", () -> held(Kept.ANSWER) > 0);
      long rest = root.limit() - root.held();
      root.takeAnyway(rest);
      ConnectionMemory other =
          Objects.requireNonNull(
              gateway
                  .bean(PeerMemory.class)
                  .open(new InetSocketAddress("10.0.0.9", 1), 1000, () -> {}));
      try {
        assertThat(other.take(Kept.MESSAGE, 1_000)).as("for which there is no room").isNotNull();
        RunningGateway.await("the stream has ended", () -> ended(End.RELIEVED) == before + 1);
      } finally {
        root.giveBack(rest);
        other.close();
      }
      sending.get(60, TimeUnit.SECONDS);
      assertThatThrownBy(() -> client.read(LARGE * 4)).hasMessageContaining("reset");
    }
  }

  @Test
  void shouldEndAStreamWhoseClientDoesNotReadForLong() throws Exception {
    try (RunningGateway own =
        new RunningGateway(
            List.of(w0),
            "--roundhouse.gateway.stream.port=0",
            "--roundhouse.gateway.stream.address=127.0.0.1",
            "--roundhouse.gateway.server.unread-answer-timeout=1s")) {
      own.awaitReady(1);
      StreamGate gate = own.bean(StreamGate.class);
      try (Line client = Line.to(gate.port())) {
        client.greet(hello("left"));
        CompletableFuture<?> sending = sending(s0.next());
        sending.get(60, TimeUnit.SECONDS);
        RunningGateway.await("it has ended", () -> gate.counts().endedEver(End.UNREAD) == 1);
        assertThat(gate.counts().open()).isZero();
        assertThatThrownBy(() -> client.read(LARGE * 4)).hasMessageContaining("reset");
      }
      assertThat(own.bean(ModelRoutes.class).calls("w0").failed())
          .as("its worker is not to blame")
          .isZero();
    }
  }

  /** Ends when all is sent or its connection ends. */
  private static CompletableFuture<?> sending(Line from) {
    return CompletableFuture.runAsync(
        () -> {
          try (from) {
            from.send(new byte[LARGE * 4]);
          } catch (IOException e) {
            // it ends in the middle
          }
        },
        Thread::startVirtualThread);
  }
}

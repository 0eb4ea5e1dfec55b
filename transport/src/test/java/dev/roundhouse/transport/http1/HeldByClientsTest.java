package dev.roundhouse.transport.http1;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.transport.io.Leaks;
import dev.roundhouse.transport.io.PartSizes;
import dev.roundhouse.transport.memory.Kept;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** All that clients make the server keep is counted, bounded, and given back when they are gone. */
@Timeout(120)
class HeldByClientsTest {
  private Served served;

  @BeforeEach
  void start() throws Exception {
    served = Served.start();
  }

  @AfterEach
  void shouldHoldNothingWhenAllAreGone() throws Exception {
    await(() -> served.heldInAll() == 0 && served.memory.held() == 0);
    served.close();
    Leaks.awaitNone();
  }

  @Test
  void shouldCountConnectionsAndCloseThoseThatThereIsNoRoomFor() throws Exception {
    try (Peer peer = served.peer()) {
      assertThat(peer.send(Peer.post("/own/echo", "x")).answer()).isEqualTo("200 own x");
      long one = served.memory.held(Kept.CONNECTION);
      assertThat(one).isBetween(8L << 10, 64L << 10);
      served.saidLimit = 4 * one; // for standing state it is a quarter of that
      try (Peer other = served.peer()) {
        assertThat(other.rest()).isEmpty();
      }
      assertThat(peer.send(Peer.post("/own/echo", "y")).answer()).isEqualTo("200 own y");
    }
  }

  @Test
  void shouldCountALargeHeadWhileItsRequestIsUnderWay() throws Exception {
    try (Peer peer = served.peer()) {
      peer.send(
          "POST /own/later HTTP/1.1\r\nHost: a\r\nName: %s\r\nContent-Length: 0\r\n\r\n"
              .formatted("x".repeat(7000)));
      Reply reply = served.waiting.take();
      assertThat(served.memory.held(Kept.CALL)).isGreaterThan(7000);
      served.end(reply, "now");
      assertThat(peer.answer()).isEqualTo("200 now");
      await(() -> served.memory.held(Kept.CALL) == 0);
    }
  }

  @Test
  void shouldRefuseAHeadOfTooManyFields() throws Exception {
    try (Peer peer = served.peer()) {
      peer.send("POST /own/echo HTTP/1.1\r\n" + "a: b\r\n".repeat(101) + "\r\n");
      assertThat(peer.rest())
          .startsWith("HTTP/1.1 431")
          .endsWith("the request's head has 101 fields, the limit is 100; send fewer");
    }
  }

  @Test
  void shouldCountAHeadThatHasComeInPart() throws Exception {
    try (Peer peer = served.peer()) {
      peer.send("POST /own/echo HTTP/1.1\r\nHost: a\r\nName: " + "x".repeat(5000));
      await(() -> served.memory.held(Kept.CALL) >= 5000);
      peer.send("\r\nContent-Length: 1\r\n\r\nx");
      assertThat(peer.answer()).isEqualTo("200 own x");
      await(() -> served.memory.held(Kept.CALL) == 0);
    }
  }

  @Test
  void shouldKeepWhatIsSentAheadAsItCame() throws Exception {
    String small = "POST /own/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n";
    int many = 2000;
    try (Peer peer = served.peer()) {
      peer.send(Peer.post("/own/later", "x") + small.repeat(many));
      Reply reply = served.waiting.take();
      await(() -> served.memory.held(Kept.CALL) > 0);
      assertThat(served.memory.held(Kept.CALL)).isLessThanOrEqualTo(2 * PartSizes.READ_BYTES);
      served.end(reply, "first");
      assertThat(peer.answer()).isEqualTo("200 first");
      for (int i = 0; i < many; i++) {
        assertThat(peer.answer()).isEqualTo("200 own ");
      }
      await(() -> served.memory.held(Kept.CALL) == 0);
    }
  }

  @Test
  void shouldTakeABodyOfManySmallChunks() throws Exception {
    try (Peer peer = served.peer()) {
      peer.send(
          "POST /other HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
              + "1\r\nx\r\n".repeat(50_000)
              + "0\r\n\r\n");
      assertThat(peer.answer()).isEqualTo("200 POST /other " + "x".repeat(50_000));
      assertThat(peer.send(Peer.post("/own/echo", "y")).answer()).isEqualTo("200 own y");
    }
  }

  @Test
  void shouldCountWhatAClientDoesNotRead() throws Exception {
    try (Peer peer = served.peer()) {
      peer.send(Peer.post("/own/wide", "")).head();
      await(() -> served.memory.held(Kept.ANSWER) > 0);
      assertThat(served.memory.held(Kept.ANSWER)).isLessThanOrEqualTo(256 << 10);
    }
    await(() -> served.memory.held(Kept.ANSWER) == 0);
  }

  @Test
  void shouldEndWhatDoesNotGetOnWhenOthersNeedItsMemory() throws Exception {
    List<Peer> greedy = new ArrayList<>();
    try {
      for (int i = 0; i < 8; i++) {
        Peer peer = served.peer();
        greedy.add(peer);
        peer.send("POST /own/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 65536\r\n\r\nx");
      }
      await(() -> served.passing() == 8 << 16);
      served.limit = served.held();
      try (Peer other = served.peer()) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        String told = "";
        while (!told.startsWith("200") && System.nanoTime() < end) {
          told = other.send(Peer.post("/own/echo", "x".repeat(20_000))).answer();
        }
        assertThat(told).startsWith("200");
      }
      assertThat(greedy.getFirst().rest()).startsWith("HTTP/1.1 504").contains("retry later");
    } finally {
      for (Peer peer : greedy) {
        peer.close();
      }
    }
  }

  private static void await(BooleanSupplier condition) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).as("in time").isLessThan(end);
      Thread.onSpinWait();
    }
  }
}

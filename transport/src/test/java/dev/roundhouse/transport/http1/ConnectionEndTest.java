package dev.roundhouse.transport.http1;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.transport.io.Leaks;
import dev.roundhouse.transport.memory.Kept;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** When a connection ends, who may have one, and what becomes of requests on it. */
@Timeout(120)
class ConnectionEndTest {
  private static final Duration SHORT = Duration.ofMillis(500);

  @AfterEach
  void shouldHaveReleasedEveryBuffer() {
    Leaks.awaitNone();
  }

  @ParameterizedTest
  @ValueSource(strings = {"/own/echo", "/other"})
  void shouldCloseAfterTheAnswerWhenAsked(String path) throws Exception {
    try (Served served = Served.start()) {
      for (String asked :
          new String[] {"HTTP/1.0\r\n", "HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"}) {
        try (Peer peer = served.peer()) {
          peer.send("POST " + path + " " + asked + "Content-Length: 1\r\n\r\nx");
          assertThat(peer.rest()).contains("Connection: close").endsWith("x");
        }
      }
      try (Peer peer = served.peer()) {
        for (int i = 0; i < 2; i++) {
          peer.send(
              "POST " + path + " HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx");
          String head = peer.head();
          assertThat(head).containsIgnoringCase("Connection: keep-alive");
          int at = head.toLowerCase(Locale.ROOT).indexOf("content-length: ") + 16;
          peer.socket
              .getInputStream()
              .readNBytes(Integer.parseInt(head.substring(at, head.indexOf('\r', at))));
        }
      }
    }
  }

  @Test
  void shouldAnswerAClientThatSendsNoMore() throws Exception {
    try (Served served = Served.start();
        Peer peer = served.peer()) {
      peer.send(Peer.post("/own/later", "a") + Peer.get("/b") + Peer.post("/own/echo", "c"));
      peer.send(Peer.post("/own/echo", "d") + Peer.get("/e"));
      Reply reply = served.waiting.take();
      peer.socket.shutdownOutput();
      served.end(reply, "a");
      for (String answer : List.of("a", "GET /b ", "own c", "own d", "GET /e ")) {
        assertThat(peer.answer()).isEqualTo("200 " + answer);
      }
      assertThat(peer.rest()).isEmpty();
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "POST /own/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nx",
        "POST /other HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nx",
        "GET / HT",
        ""
      })
  void shouldCloseWhenAClientSendsNoMoreThanPartOfARequest(String begun) throws Exception {
    try (Served served = Served.start();
        Peer peer = served.peer()) {
      peer.send(begun).socket.shutdownOutput();
      assertThat(peer.rest()).isEmpty();
    }
  }

  /** Between, it is asked whether it is there. */
  @Test
  void shouldAnswerAClientThatSendsNoMoreHoweverLongThatTakes() throws Exception {
    try (Served served = Served.start();
        Peer peer = served.peer()) {
      peer.send(Peer.post("/own/later", "a") + Peer.post("/own/echo", "b")).socket.shutdownOutput();
      for (int i = 0; i < 3; i++) {
        assertThat(peer.head()).isEqualTo(Peer.INTERIM);
      }
      served.end(served.waiting.take(), "later");
      assertThat(peer.lastAnswer()).isEqualTo("200 later");
      assertThat(peer.answer()).isEqualTo("200 own b");
      assertThat(peer.rest()).isEmpty();
      assertThat(served.gone).hasValue(0);
    }
  }

  /** Interim answers are none of HTTP/1.0. */
  @Test
  void shouldAnswerAnOldClientThatSendsNoMoreOnce() throws Exception {
    try (Served served = Served.start();
        Peer old = served.peer();
        Peer other = served.peer()) {
      old.send("POST /own/later HTTP/1.0\r\nContent-Length: 1\r\n\r\na").socket.shutdownOutput();
      Reply first = served.waiting.take();
      other.send(Peer.post("/own/later", "b")).socket.shutdownOutput();
      for (int i = 0; i < 2; i++) {
        assertThat(other.head()).isEqualTo(Peer.INTERIM);
      }
      served.end(first, "a");
      assertThat(old.answer()).isEqualTo("200 a");
      served.end(served.waiting.take(), "b");
      assertThat(other.lastAnswer()).isEqualTo("200 b");
    }
  }

  @Test
  void shouldEndARequestWhoseClientGoesAfterItHasSentAll() throws Exception {
    try (Served served = Served.start();
        Peer peer = served.peer()) {
      peer.send(Peer.post("/own/later", "a")).socket.shutdownOutput();
      Reply reply = served.waiting.take();
      assertThat(peer.head()).isEqualTo(Peer.INTERIM);
      assertThat(reply.isGone()).isFalse();
      peer.close();
      await(reply::isGone);
      assertThat(served.gone).hasValue(1);
      served.end(reply, "nobody reads it");
    }
  }

  @Test
  void shouldCloseAtOnceOnARefusalToAClientThatSendsNoMore() throws Exception {
    try (Served served = Served.start();
        Peer peer = served.peer()) {
      peer.send(Peer.post("/own/later", "a") + "POST /b HTTP/1.1\r\nExpect: miracles\r\n\r\n");
      Reply reply = served.waiting.take();
      peer.socket.shutdownOutput();
      served.end(reply, "a");
      assertThat(peer.answer()).isEqualTo("200 a");
      assertThat(peer.answer()).startsWith("417 ");
      assertThat(peer.rest()).isEmpty();
      long told = System.nanoTime();
      await(() -> served.heldInAll() == 0); // its connection has been closed
      assertThat(System.nanoTime() - told).isLessThan(Http1Server.ENDING_NANOS / 2);
    }
  }

  @Test
  void shouldTakeNoMoreConnectionsAndRequestsThanAllowed() throws Exception {
    var limits = new Http1Settings.Limits(1, 10, 8192, 2);
    try (Served served = Served.start(limits, Duration.ofMinutes(1));
        Peer first = served.peer()) {
      first.send(Peer.post("/own/later", "a")); // at work: nobody closes it
      Reply reply = served.waiting.take();
      try (Peer second = served.peer()) {
        second.send(Peer.get("/b"));
        second.socket.setSoTimeout(300);
        assertThatThrownBy(second::head).isInstanceOf(SocketTimeoutException.class);
        first.send(Peer.post("/own/echo", "x"));
        served.end(reply, "a");
        assertThat(first.answer()).isEqualTo("200 a");
        assertThat(first.rest()).contains("Connection: close");
        second.socket.setSoTimeout(60_000);
        assertThat(second.answer()).isEqualTo("200 GET /b ");
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "POST /own/echo HT", "POST /own/echo HTTP/1.1\r\nName: "})
  void shouldCloseWhenNoRequestComes(String begun) throws Exception {
    try (Served served = Served.start(new Http1Settings.Limits(9, 9, 8192, -1), SHORT);
        Peer peer = served.peer()) {
      assertThat(peer.send(begun).rest()).isEmpty();
      try (Peer idle = served.peer()) {
        assertThat(idle.send(Peer.post("/own/echo", "x")).answer()).isEqualTo("200 own x");
        assertThat(idle.rest()).isEmpty();
      }
    }
  }

  @Test
  void shouldRefuseABodyThatStopsAndCloseOnAnAnswerThatIsNotRead() throws Exception {
    try (Served served = Served.start(new Http1Settings.Limits(9, 9, 8192, -1), SHORT)) {
      try (Peer peer = served.peer()) {
        peer.send("POST /own/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx");
        assertThat(peer.rest())
            .startsWith("HTTP/1.1 504")
            .contains("has stopped arriving", "hurry");
      }
      try (Peer peer = served.peer()) {
        peer.send(Peer.post("/own/wide", "")).head();
        int sent = served.sent.get();
        await(() -> served.sent.get() > sent);
        await(() -> served.heldInAll() == 0); // its connection has been closed
        assertThat(peer.rest().length()).isLessThan(64 << 20);
      }
      await(() -> served.passing() == 0);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"/own/echo", "/other"})
  void shouldSayThatAConnectionIsClosedWhileItsClientsAreToLeave(String path) throws Exception {
    try (Served served = Served.start();
        Peer idle = served.peer();
        Peer busy = served.peer()) {
      assertThat(idle.send(Peer.post(path, "x")).head()).doesNotContain("Connection: close");
      busy.send(Peer.post(path, "x")).answer();
      served.server.leave();
      assertThat(busy.send(Peer.post(path, "x")).rest())
          .startsWith("HTTP/1.1 200")
          .contains("Connection: close");
      try (Peer late = served.peer()) {
        assertThat(late.send(Peer.post(path, "x")).rest())
            .startsWith("HTTP/1.1 200")
            .contains("Connection: close");
      }
    }
  }

  /** Its answer began before, and could not say so. */
  @Test
  void shouldAnswerOnceMoreWhoCouldNotKnow() throws Exception {
    try (Served served = Served.start();
        Peer busy = served.peer()) {
      busy.send(Peer.post("/own/wide", "")).head();
      CompletableFuture<Void> drained = served.server.drain();
      busy.send(Peer.post("/own/echo", "y"));
      String rest =
          new String(busy.socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
      assertThat(rest.substring(rest.length() - 200))
          .contains("HTTP/1.1 200", "Connection: close")
          .endsWith("own y");
      drained.get(60, TimeUnit.SECONDS);
    }
  }

  @Test
  void shouldDrain() throws Exception {
    try (Served served = Served.start();
        Peer idle = served.peer();
        Peer used = served.peer();
        Peer late = served.peer();
        Peer busy = served.peer()) {
      used.send(Peer.get("/a")).answer();
      late.send(Peer.post("/own/echo", "x")).answer();
      busy.send(Peer.post("/own/later", "x"));
      Reply reply = served.waiting.take();
      CompletableFuture<Void> drained = served.server.drain();
      late.send(Peer.post("/own/echo", "y"));
      assertThat(late.rest())
          .startsWith("HTTP/1.1 200")
          .contains("Connection: close")
          .endsWith("own y");
      assertThat(idle.rest()).isEmpty();
      assertThat(used.rest()).isEmpty();
      assertThat(drained).isNotDone();
      served.end(reply, "late");
      assertThat(busy.rest()).startsWith("HTTP/1.1 200").contains("Connection: close");
      drained.get(60, TimeUnit.SECONDS);
      assertThatThrownBy(served::peer).isInstanceOf(IOException.class);
    }
  }

  /** And no other, though one that becomes idle meanwhile asks for room as well. */
  @Test
  void shouldCloseWhatHasBeenIdleForLongestWhenThereAreAsManyAsThereMayBe() throws Exception {
    var limits = new Http1Settings.Limits(2, 1000, 8192, -1);
    try (Served served = Served.start(limits, Duration.ofMinutes(1));
        Peer kept = served.peer()) {
      kept.send(withLongHead("POST", "/own/later"));
      Reply reply = served.waiting.take();
      assertThat(served.memory.held(Kept.CALL))
          .as("counted")
          .isPositive(); // otherwise awaitIdle awaits nothing
      served.end(reply, "a");
      assertThat(kept.answer()).isEqualTo("200 a");
      for (int i = 0; i < 200; i++) {
        try (Peer idle = served.peer()) {
          idle.send(withLongHead("GET", "/idle")).answer();
          awaitIdle(served);
          kept.send(Peer.get("/kept")).answer();
          try (Peer next = served.peer()) {
            next.send(withLongHead("GET", "/next"));
            while (next.socket.getInputStream().available() == 0) {
              served.server.offerRoom();
            }
            assertThat(next.answer()).isEqualTo("200 GET /next ");
            awaitIdle(served);
            assertThat(idle.rest()).isEmpty();
          }
          assertThat(kept.send(Peer.get("/kept")).answer()).isEqualTo("200 GET /kept ");
        }
      }
    }
  }

  /**
   * Returns once the server knows that each connection on which a long head came is idle; its
   * client may have read the answer before. Short heads are not counted.
   */
  private static void awaitIdle(Served served) {
    await(() -> served.memory.held(Kept.CALL) == 0);
  }

  private static String withLongHead(String method, String path) {
    return "%s %s HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nX-Long: %s\r\n\r\n"
        .formatted(method, path, "x".repeat(4000));
  }

  @Test
  void shouldCloseAnIdleConnectionWhenTheOneIdleForLongerHasBegunAHead() throws Exception {
    var limits = new Http1Settings.Limits(2, 10, 8192, -1);
    try (Served served = Served.start(limits, Duration.ofHours(1));
        Peer slow = served.peer()) {
      slow.send("GET /slow HTTP/1.1\r\n");
      await(() -> served.memory.held(Kept.CALL) > 0); // it has arrived
      try (Peer idle = served.peer();
          Peer next = served.peer()) {
        assertThat(next.send(Peer.get("/next")).answer()).isEqualTo("200 GET /next ");
        assertThat(idle.rest()).isEmpty();
        assertThat(slow.send("Host: a\r\n\r\n").answer()).isEqualTo("200 GET /slow ");
      }
    }
  }

  @Test
  void shouldCloseWhatBecomesIdleWhileAnotherWaits() throws Exception {
    var limits = new Http1Settings.Limits(1, 10, 8192, -1);
    try (Served served = Served.start(limits, Duration.ofMinutes(1));
        Peer first = served.peer()) {
      first.send(Peer.post("/own/later", "a"));
      Reply reply = served.waiting.take();
      try (Peer second = served.peer()) {
        second.send(Peer.get("/b"));
        served.end(reply, "a");
        assertThat(first.answer()).isEqualTo("200 a");
        assertThat(first.rest()).isEmpty();
        assertThat(second.answer()).isEqualTo("200 GET /b ");
      }
    }
  }

  /** Who is closed may not have left yet when the next one needs room. */
  @Test
  void shouldGoOnAcceptingWhateverManyConnectionsDo() throws Exception {
    var limits = new Http1Settings.Limits(4, 128, 8192, -1);
    List<Peer> idle = new ArrayList<>();
    try (Served served = Served.start(limits, Duration.ofMinutes(1))) {
      for (int i = 0; i < 400; i++) {
        idle.add(served.peer());
        if (i % 20 == 0) {
          try (Peer asking = served.peer()) {
            assertThat(asking.send(Peer.get("/a")).answer()).isEqualTo("200 GET /a ");
          }
        }
      }
    } finally {
      for (Peer each : idle) {
        each.close();
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

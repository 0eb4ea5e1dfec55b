package dev.roundhouse.transport.http1;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.transport.io.Leaks;
import dev.roundhouse.transport.memory.Kept;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(120)
class Http1ServerTest {
  @AfterEach
  void shouldHaveReleasedEveryBuffer() {
    Leaks.awaitNone();
  }

  @Test
  void shouldAnswerRequestsOfOneConnection() throws Exception {
    try (Served served = Served.start();
        Peer peer = served.peer()) {
      for (int i = 0; i < 3; i++) {
        assertThat(peer.send(Peer.post("/own/echo", "a" + i)).answer()).isEqualTo("200 own a" + i);
        assertThat(peer.send(Peer.post("/other", "b" + i)).answer())
            .isEqualTo("200 POST /other b" + i);
      }
      await(() -> served.sent.get() == 6);
      await(() -> served.passing() == 0);
    }
  }

  @Test
  void shouldSayThatItHasFailedWhenAnEventLoopHasEnded() throws Exception {
    try (Served served = Served.start();
        Peer peer = served.peer()) {
      peer.send(Peer.post("/own/ends-loop", ""));
      assertThat(served.failure().get(30, TimeUnit.SECONDS)).hasMessageContaining("'http-");
    }
  }

  @Test
  void shouldAnswerInOrderWhatIsSentAhead() throws Exception {
    try (Served served = Served.start();
        Peer peer = served.peer()) {
      StringBuilder all = new StringBuilder();
      for (int i = 0; i < 500; i++) {
        all.append(Peer.post(i % 3 == 0 ? "/other" : "/own/echo", "" + i));
      }
      CompletableFuture<Void> sending =
          CompletableFuture.runAsync(
              () -> {
                try {
                  peer.send(all.toString());
                } catch (IOException e) {
                  throw new IllegalStateException(e);
                }
              });
      for (int i = 0; i < 500; i++) {
        assertThat(peer.answer()).isEqualTo("200 " + (i % 3 == 0 ? "POST /other " : "own ") + i);
      }
      sending.get(60, TimeUnit.SECONDS);
    }
  }

  @ParameterizedTest
  @CsvSource({"/own/echo,own", "/other,POST /other"})
  void shouldReadBodiesInChunks(String path, String answer) throws Exception {
    try (Served served = Served.start();
        Peer peer = served.peer()) {
      peer.send(
          "POST "
              + path
              + " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n");
      peer.send("3\r\nefg\r\n0\r\n\r\n");
      assertThat(peer.answer()).isEqualTo("200 " + answer + " abcdefg");
      assertThat(peer.send(Peer.post("/own/echo", "x")).answer()).isEqualTo("200 own x");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"/own/echo", "/other"})
  void shouldAskForABodyThatWaitsForIt(String path) throws Exception {
    try (Served served = Served.start();
        Peer peer = served.peer()) {
      peer.send(
          "POST "
              + path
              + " HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
      assertThat(peer.head()).startsWith("HTTP/1.1 100 ");
      assertThat(peer.send("ab").answer()).startsWith("200 ").endsWith("ab");
      assertThat(peer.send(Peer.post(path, "x")).answer()).endsWith("x");
    }
  }

  @Test
  void shouldNotAskForABodyThatIsTooLarge() throws Exception {
    try (Served served = Served.start();
        Peer peer = served.peer()) {
      peer.send(
          "POST /own/echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 70000\r\n\r\n");
      assertThat(peer.answer())
          .isEqualTo("400 the request's body has 70000 bytes, the limit is 65536; send less");
      assertThat(peer.rest()).isEmpty();
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "400|NONSENSE",
        "400|GET / HTTP/x",
        "400|GET / HTTP/1.1~Content-Length: x",
        "400|POST /own/echo HTTP/1.1~Content-Length: 3~Transfer-Encoding: chunked",
        "400|POST /other HTTP/1.1~Transfer-Encoding: chunked~Content-Length: 3",
        "400|POST /own/echo HTTP/1.1~Content-Length: 3~Content-Length: 4",
        "400|GET / HTTP/1.1~Host: a_b/c",
        "400|GET / HTTP/1.1~Host: user@a",
        "400|GET / HTTP/1.1~Host: a~Host: b",
        "400|GET / HTTP/1.1",
        "400|GET / HTTP/1.1~Host: a~Name: b%0c",
        "400|GET / HTTP/1.1~Host: a~Name: b%rc",
        "417|GET / HTTP/1.1~Expect: miracles",
        "501|POST /own/echo HTTP/1.1~Transfer-Encoding: gzip, chunked",
        "501|CONNECT a:1 HTTP/1.1",
        "414|GET /%s HTTP/1.1",
        "431|GET / HTTP/1.1~Name: %s",
      })
  void shouldRefuseAHeadThatIsNone(int code, String head) throws Exception {
    try (Served served = Served.start();
        Peer peer = served.peer()) {
      String text =
          head.replace("%s", "x".repeat(9000))
              .replace("~", "\r\n")
              .replace("%0", "\0")
              .replace("%r", "\r");
      peer.send(text + "\r\n\r\n");
      assertThat(peer.rest()).startsWith("HTTP/1.1 " + code).contains("Connection: close");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"/own/echo", "/other"})
  void shouldAskTheGuardBeforeAnybodyAnswers(String path) throws Exception {
    try (Served served = Served.start();
        Peer peer = served.peer()) {
      for (int i = 0; i < 2; i++) { // by one connection: the body is read and forgotten
        peer.send(
            "POST " + path + " HTTP/1.1\r\nHost: a\r\nX-Refuse: 1\r\nContent-Length: 3\r\n\r\nabc");
        assertThat(peer.answer()).isEqualTo("403 " + path + " is refused");
      }
      await(() -> served.held() == 0);
    }
  }

  @Test
  void shouldSayWhoItsClientIs() throws Exception {
    try (Served served = Served.start();
        Peer peer = served.peer()) {
      assertThat(peer.send(Peer.get("/client")).answer())
          .isEqualTo("200 /127.0.0.1:" + peer.socket.getLocalPort() + " null");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"/own/echo", "/other"})
  void shouldRefuseChunksThatAreNone(String path) throws Exception {
    try (Served served = Served.start();
        Peer peer = served.peer()) {
      peer.send(
          "POST " + path + " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n");
      assertThat(peer.rest()).startsWith("HTTP/1.1 400").contains("Connection: close");
      await(() -> served.passing() == 0);
    }
  }

  @Test
  void shouldAnswerHeadWithoutABody() throws Exception {
    try (Served served = Served.start();
        Peer peer = served.peer()) {
      peer.send("HEAD /a HTTP/1.1\r\nHost: a\r\n\r\n");
      assertThat(peer.head()).startsWith("HTTP/1.1 200").containsIgnoringCase("content-length: 8");
      assertThat(peer.send(Peer.get("/b")).answer()).isEqualTo("200 GET /b ");
    }
  }

  @Test
  void shouldHoldABodyToWhatItsHandlerWants() throws Exception {
    try (Served served = Served.start();
        Peer peer = served.peer()) {
      assertThat(peer.send(Peer.post("/small", "ab")).answer()).isEqualTo("200 POST /small ab");
      assertThat(peer.send(Peer.post("/small", "abc")).answer())
          .isEqualTo("400 the request's body has 3 bytes, the limit is 2; send next to nothing");
      assertThat(peer.send(Peer.post("/small", "")).answer()).isEqualTo("200 POST /small ");
    }
  }

  @Test
  void shouldReadOnAfterABodyThatIsTooLarge() throws Exception {
    try (Served served = Served.start();
        Peer peer = served.peer()) {
      assertThat(peer.send(Peer.post("/own/echo", "x".repeat(70_000))).answer())
          .startsWith("400 the request's body has 70000 bytes");
      assertThat(peer.send(Peer.post("/own/echo", "y")).answer()).isEqualTo("200 own y");
      served.limit = 10; // beyond what the connection has ready for small bodies
      assertThat(peer.send(Peer.post("/own/echo", "x".repeat(40_000))).answer())
          .isEqualTo("429 there is no room");
      served.limit = Long.MAX_VALUE;
      assertThat(peer.send(Peer.post("/own/echo", "z")).answer()).isEqualTo("200 own z");
      await(() -> served.passing() == 0);
    }
  }

  /** As many clients do. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "Expect: 100-continue\r\n",
        "Expect: miracles\r\n",
        "Transfer-Encoding: x\r\n"
      })
  void shouldTellAClientThatSendsAllBeforeItReads(String field) throws Exception {
    try (Served served = Served.start();
        Peer peer = served.peer()) {
      int length = 30_000_000;
      peer.send("POST /own/echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" + field);
      peer.send(field.startsWith("Transfer") ? "\r\n" : "Content-Length: " + length + "\r\n\r\n");
      peer.socket.getOutputStream().write(new byte[length]);
      assertThat(new String(peer.socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII))
          .matches("(?s)HTTP/1.1 (400|417|501) .*Connection: close.*");
      await(() -> served.passing() == 0);
    }
  }

  @Test
  void shouldForgetOnlySoMuchOfABodyThatNobodyWants() throws Exception {
    try (Served served = Served.start();
        Peer peer = served.peer()) {
      peer.send("POST /own/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n");
      byte[] piece = new byte[1 << 20];
      assertThatThrownBy(
              () -> {
                for (int i = 0; i < 1000; i++) {
                  peer.socket.getOutputStream().write(piece);
                }
              })
          .isInstanceOf(IOException.class);
    }
  }

  @Test
  void shouldHoldWhatHasComeAndNotWhatWasAnnounced() throws Exception {
    try (Served served = Served.start();
        Peer peer = served.peer()) {
      peer.send(
          "POST /own/echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
      await(() -> served.passing() > 0);
      assertThat(served.passing()).isLessThanOrEqualTo(1 << 16);
      peer.close();
      await(() -> served.heldInAll() == 0 && served.memory.held() == 0);
    }
  }

  @Test
  void shouldWaitForAClientThatDoesNotRead() throws Exception {
    try (Served served = Served.start();
        Peer peer = served.peer()) {
      peer.send(Peer.post("/own/wide", ""));
      assertThat(peer.head()).contains("Transfer-Encoding: chunked");
      Thread writer = served.writer.take();
      await(() -> writer.getState() == Thread.State.WAITING && served.memory.held(Kept.ANSWER) > 0);
      assertThat(served.pieces.get()).isLessThan(1 << 9);
      assertThat(peer.socket.getInputStream().readNBytes(64 << 20)).hasSize(64 << 20);
    }
  }

  @Test
  void shouldEndAReplyWhoseClientHasGone() throws Exception {
    try (Served served = Served.start()) {
      try (Peer peer = served.peer()) {
        peer.send(Peer.post("/own/wide", ""));
        peer.head();
      }
      await(() -> served.sent.get() == 1);
      int gone = served.gone.get(); // 0 when the reply found out first, and was aborted
      Reply reply;
      try (Peer peer = served.peer()) {
        peer.send(Peer.post("/own/later", "x"));
        reply = served.waiting.take();
      }
      await(() -> reply.isGone() && served.gone.get() == gone + 1);
      served.end(reply, "nobody reads it");
      await(() -> served.sent.get() == 2);
    }
  }

  @Test
  void shouldTellBeforeABodyThatNobodyWantsHasCome() throws Exception {
    try (Served served = Served.start();
        Peer peer = served.peer()) {
      peer.send("POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n");
      assertThat(peer.answer()).isEqualTo("404 nobody wants it");
      peer.send("x".repeat(100_000) + Peer.get("/b"));
      assertThat(peer.answer()).isEqualTo("200 GET /b ");
      await(() -> served.passing() == 0);
    }
  }

  @Test
  void shouldCloseWhenAHandlerFails() throws Exception {
    try (Served served = Served.start();
        Peer peer = served.peer()) {
      assertThat(peer.send(Peer.post("/own/throws", "x")).rest()).isEmpty();
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

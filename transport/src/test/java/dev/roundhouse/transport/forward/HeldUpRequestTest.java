package dev.roundhouse.transport.forward;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.transport.http1.Peer;
import dev.roundhouse.transport.memory.Kept;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests over HTTP that are sent on, when a side is slow or gone. */
@Timeout(120)
class HeldUpRequestTest extends SentOnHttp {
  private static final int LARGE = 64 << 20;

  private final Behind a;

  HeldUpRequestTest() throws IOException {
    a = serve("a");
  }

  @BeforeEach
  void start() throws IOException {
    startFront(null);
  }

  // --- A side is slow.

  @Test
  void shouldHoldLittleOfALargeBodyThatItsServerDoesNotRead() throws Exception {
    AtomicLong read = new AtomicLong();
    Object go = new Object();
    a.script =
        asked -> {
          byte[] piece = new byte[1 << 16];
          synchronized (go) {
            for (int n = 0; read.get() < LARGE && n >= 0; read.addAndGet(n)) {
              n = asked.read(piece);
            }
          }
          asked.answer(200, new byte[] {'k'});
        };
    try (Peer peer = peer()) {
      Thread sending;
      AtomicLong sent = new AtomicLong();
      synchronized (go) {
        peer.send("POST /m HTTP/1.1\r\nHost: h\r\nContent-Length: " + LARGE + "\r\n\r\n");
        sending = Thread.ofPlatform().start(() -> sendLarge(peer, sent));
        await(() -> peers.held(Kept.BODY) > 200_000);
        awaitNoMore(sent);
        assertThat(sent).hasValueLessThan(LARGE / 2);
        assertThat(memory.held()).isLessThan(512 << 10);
      }
      assertThat(peer.answer()).isEqualTo("200 k");
      sending.join();
      assertThat(read).hasValue(LARGE);
    }
  }

  @Test
  void shouldHoldLittleOfALargeAnswerThatItsClientDoesNotRead() throws Exception {
    AtomicLong written = new AtomicLong();
    a.script =
        asked -> {
          asked.body();
          asked.write("HTTP/1.1 200 OK\r\nContent-Length: " + LARGE + "\r\n\r\n");
          byte[] piece = new byte[1 << 16];
          for (int i = 0; i < LARGE / piece.length; i++) {
            asked.socket.getOutputStream().write(piece);
            written.addAndGet(piece.length);
          }
        };
    try (Peer peer = peer()) {
      peer.send(Peer.post("/m", "x"));
      await(() -> peers.held(Kept.ANSWER) > 0);
      awaitNoMore(written);
      assertThat(written).hasValueLessThan(LARGE / 2);
      assertThat(memory.held()).isLessThan(512 << 10);
      peer.head();
      assertThat(peer.readBytes(LARGE)).isEqualTo(LARGE);
      await(() -> told.contains("a ended OK"));
      a.script = Behind.Asked::echo;
      assertThat(peer.send(Peer.post("/m", "x")).answer()).isEqualTo("200 x");
    }
    assertThat(a.connections).hasValue(1);
  }

  @Test
  void shouldHoldLittleOfAnAnswerInManySmallParts() throws Exception {
    a.script =
        asked -> {
          asked.body();
          asked.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
          byte[] parts = "1\r\nx\r\n".repeat(1000).getBytes(StandardCharsets.US_ASCII);
          for (int i = 0; i < 1000; i++) {
            asked.socket.getOutputStream().write(parts);
          }
          asked.write("0\r\n\r\n");
        };
    try (Peer peer = peer()) {
      assertThat(peer.send(Peer.post("/m", "x")).answer()).hasSize(4 + 1_000_000);
    }
  }

  private static void sendLarge(Peer peer, AtomicLong sent) {
    byte[] piece = new byte[1 << 16];
    Arrays.fill(piece, (byte) 'x');
    try {
      OutputStream out = peer.socket.getOutputStream();
      for (int i = 0; i < LARGE / piece.length; i++) {
        out.write(piece);
        sent.addAndGet(piece.length);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Until the system takes no more of what is sent. */
  private static void awaitNoMore(AtomicLong bytes) {
    long since = System.nanoTime();
    for (long last = bytes.get(); System.nanoTime() - since < 300_000_000; ) {
      long now = bytes.get();
      if (now != last) {
        last = now;
        since = System.nanoTime();
      }
      Thread.onSpinWait();
    }
  }

  // --- The client goes.

  @Test
  void shouldSendNothingOfABodyThatDoesNotCome() throws Exception {
    try (Peer peer = peer()) {
      peer.send("POST /m HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nxx");
      await(() -> peers.held(Kept.BODY) > 0);
    }
    await(() -> heldByPeers() == 0);
    assertThat(a.connections).hasValue(0);
  }

  @ParameterizedTest
  @ValueSource(strings = {"within its body", "before its answer", "within its answer"})
  void shouldEndTheRequestAtItsServerWhenTheClientHasGone(String when) throws Exception {
    a.script =
        asked -> {
          if (!when.equals("within its body")) {
            asked.body();
          }
          if (when.equals("within its answer")) {
            asked.writeUntilEnd("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n");
          }
          asked.awaitEnd();
        };
    try (Peer peer = peer()) {
      if (when.equals("within its body")) {
        peer.send("POST /m HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n");
        peer.send("x".repeat(80_000));
      } else {
        peer.send(Peer.post("/m", "x"));
      }
      a.next();
      if (when.equals("within its answer")) {
        peer.head();
      }
    }
    await(() -> a.ended.get() == 1);
    await(() -> told.contains("a ended CANCELLED"));
  }

  @Test
  void shouldAnswerAClientThatSendsNoMore() throws Exception {
    a.script =
        asked -> {
          byte[] body = asked.body();
          a.asked.clear();
          asked.answer(200, body);
        };
    try (Peer peer = peer()) {
      peer.send(Peer.post("/m", "x"));
      peer.socket.shutdownOutput();
      assertThat(peer.lastAnswer()).isEqualTo("200 x");
      assertThat(peer.rest()).isEmpty();
    }
  }

  // --- The server goes.

  @Test
  void shouldSayThatAServerCannotBeReached() throws Exception {
    a.close();
    try (Peer peer = peer()) {
      assertThat(peer.send(Peer.post("/m", "x")).answer())
          .startsWith("503 worker 'a' cannot be reached: ")
          .contains("refused");
    }
    assertTold("shown 1", "a other UNAVAILABLE unreached", "a ended UNAVAILABLE unreached");
  }

  @Test
  void shouldSayThatAServerHasGoneBeforeItHasAnswered() throws Exception {
    a.script =
        asked -> {
          throw new IOException("gone");
        };
    try (Peer peer = peer()) {
      assertThat(peer.send(Peer.post("/m", "x")).answer())
          .startsWith("503 worker 'a' cannot be reached: ");
    }
    assertTold("shown 1", "a other UNAVAILABLE lost", "a ended UNAVAILABLE lost");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Content-Length: 100\r\n\r\nhalf",
        "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"
      })
  void shouldEndTheConnectionWhenAServerHasGoneWithinItsAnswer(String begin) throws Exception {
    a.script =
        asked -> {
          asked.body();
          asked.write("HTTP/1.1 200 OK\r\n" + begin);
          throw new IOException("gone");
        };
    try (Peer peer = peer()) {
      assertThat(peer.send(Peer.post("/m", "x")).rest())
          .startsWith("HTTP/1.1 200")
          .contains("half")
          .doesNotContain("0\r\n\r\n".repeat(2));
    }
    assertTold("shown 1", "a ended UNAVAILABLE lost");
  }

  @Test
  void shouldPassOnAnAnswerThatComesBeforeTheBodyHas() throws Exception {
    a.script =
        asked -> {
          asked.answer(413, new byte[] {'n'}, "Connection: close");
          asked.awaitEnd();
        };
    try (Peer peer = peer()) {
      peer.send("POST /m HTTP/1.1\r\nHost: h\r\nContent-Length: 300000\r\n\r\n");
      peer.send("x".repeat(100_000));
      assertThat(peer.answer()).isEqualTo("413 n");
      peer.send("x".repeat(200_000));
      a.script = Behind.Asked::echo;
      assertThat(peer.send(Peer.post("/m", "y")).answer()).isEqualTo("200 y");
    }
  }
}

package dev.roundhouse.transport.http1;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.transport.io.Leaks;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Whatever bytes come, no buffer stays behind, nothing stays counted and others are served. */
@Timeout(300)
class HostileBytesTest {
  private static final List<String> SEEDS =
      List.of(
          Peer.post("/own/echo", "abc") + Peer.post("/other", "def"),
          "POST /own/echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: y\r\n\r\n",
          "POST /other HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\n\r\n"
              + Peer.get("/chunks"),
          "POST /own/echo HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc"
              + Peer.get("/last"),
          "GET /early HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + Peer.post("/early", "x"),
          "OPTIONS * HTTP/1.1\r\n\r\nCONNECT a:1 HTTP/1.1\r\n\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

  private final long seed = Long.getLong("frames.seed", System.nanoTime());
  private final int rounds = Integer.getInteger("frames.rounds", 1500);

  @Test
  void shouldSurvive() throws Exception {
    Random random = new Random(seed);
    try (Served served = Served.start()) {
      for (int i = 0; i < rounds; i++) {
        byte[] bytes = mutated(random);
        try (Peer peer = served.peer()) {
          int cut = random.nextInt(bytes.length + 1);
          peer.socket.getOutputStream().write(bytes, 0, cut);
          if (random.nextBoolean()) {
            peer.socket.getOutputStream().write(bytes, cut, bytes.length - cut);
          }
          if (random.nextInt(4) == 0) {
            peer.socket.shutdownOutput();
            peer.rest();
          }
        } catch (IOException closed) {
          continue; // what is none is refused
        }
      }
      try (Peer peer = served.peer()) {
        assertThat(peer.send(Peer.post("/own/echo", "x")).answer()).isEqualTo("200 own x");
        assertThat(peer.send(Peer.post("/other", "y")).answer()).isEqualTo("200 POST /other y");
      }
      long end = System.nanoTime() + 60_000_000_000L;
      while (served.heldInAll() != 0 || served.memory.held() != 0) {
        assertThat(System.nanoTime()).as("in time, seed %d", seed).isLessThan(end);
        Thread.onSpinWait();
      }
    }
    Leaks.awaitNone();
  }

  private static byte[] mutated(Random random) {
    byte[] bytes = SEEDS.get(random.nextInt(SEEDS.size())).getBytes(StandardCharsets.ISO_8859_1);
    for (int n = random.nextInt(4); n > 0; n--) {
      int at = random.nextInt(bytes.length);
      switch (random.nextInt(3)) {
        case 0 -> bytes[at] = (byte) random.nextInt(256);
        case 1 -> bytes[at] = (byte) "0123456789 \r\n:;,".charAt(random.nextInt(16));
        default -> {
          int from = random.nextInt(bytes.length);
          int count = Math.min(random.nextInt(20), bytes.length - Math.max(at, from));
          System.arraycopy(bytes, from, bytes, at, count);
        }
      }
    }
    return bytes;
  }
}

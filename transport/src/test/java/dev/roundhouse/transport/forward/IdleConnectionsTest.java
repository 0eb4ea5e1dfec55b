package dev.roundhouse.transport.forward;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.transport.http1.Peer;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Connections to servers that have no request. */
@Timeout(60)
class IdleConnectionsTest extends SentOnHttp {
  @Test
  void shouldCloseAConnectionThatHasHadNoRequestForLong() throws Exception {
    idle = Duration.ofMillis(300);
    Behind a = serve("a");
    startFront(null);
    try (Peer peer = peer()) {
      long begun = System.nanoTime();
      assertThat(peer.send(Peer.post("/m", "x")).answer()).isEqualTo("200 x");
      await(() -> a.ended.get() == 1);
      assertThat(Duration.ofNanos(System.nanoTime() - begun)).isGreaterThan(idle);
      assertThat(peer.send(Peer.post("/m", "y")).answer())
          .as("by another connection")
          .isEqualTo("200 y");
    }
    assertThat(a.connections).hasValue(2);
  }

  /** What it takes to answer is not time without a request. */
  @Test
  void shouldKeepAConnectionWhoseRequestTakesLong() throws Exception {
    idle = Duration.ofMillis(50);
    Behind slow = serve("slow");
    Behind quick = serve("quick");
    slow.script =
        asked -> {
          byte[] body = asked.body();
          await(() -> quick.ended.get() == 1);
          asked.answer(200, body);
        };
    startFront(null);
    try (Peer first = peer();
        Peer second = peer()) {
      first.send(Peer.post("/m", "x"));
      slow.next();
      firstServer = 1;
      assertThat(second.send(Peer.post("/m", "y")).answer()).isEqualTo("200 y");
      assertThat(first.answer()).as("after the other's connection was closed").isEqualTo("200 x");
    }
    assertThat(slow.connections).hasValue(1);
  }
}

package dev.roundhouse.transport.forward;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.transport.http1.Peer;
import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests over HTTP that are sent to a second server: one answer, and nothing of the other. */
@Timeout(120)
class HedgedRequestTest extends SentOnHttp {
  private static final byte[] NOTHING = new byte[0];

  private final Behind a;
  private final Behind b;

  HedgedRequestTest() throws IOException {
    a = serve("a");
    b = serve("b");
  }

  @BeforeEach
  void start() throws IOException {
    startFront(null);
  }

  // --- One after the other.

  @ParameterizedTest
  @CsvSource({
    "503,X: y,UNAVAILABLE",
    "404,X: y,NOT_FOUND",
    "429,X: y,RESOURCE_EXHAUSTED",
    "400,about: model,FAILED_PRECONDITION refused"
  })
  void shouldAskAnotherWhenOneCannotAnswer(int code, String field, String status) throws Exception {
    a.script =
        asked -> {
          asked.body();
          asked.answer(code, new byte[20_000], field);
        };
    try (Peer peer = peer()) {
      for (int i = 0; i < 3; i++) {
        assertThat(peer.send(Peer.post("/m", "x")).answer()).isEqualTo("200 x");
        assertThat(a.next().field("spent")).isEmpty();
        assertThat(b.next().field("spent")).matches("[1-9][0-9]*");
      }
    }
    assertThat(told.subList(0, 3)).containsExactly("shown 1", "a other " + status, "b ended OK");
    assertThat(a.connections).as("it is kept").hasValue(1);
  }

  @ParameterizedTest
  @CsvSource({"503,keeps: true", "400,X: y", "500,X: y", "400,about: request", "404,about: region"})
  void shouldPassOnWhatNoOtherMayAnswer(int code, String field) throws Exception {
    a.script =
        asked -> {
          asked.body();
          asked.answer(code, new byte[] {'n', 'o'}, field);
        };
    try (Peer peer = peer()) {
      peer.send(Peer.post("/m", "x"));
      assertThat(peer.head()).startsWith("HTTP/1.1 " + code).contains(field);
      assertThat(peer.readBytes(2)).isEqualTo(2);
    }
    assertThat(b.asked).isEmpty();
  }

  @Test
  void shouldPassOnTheLastRefusal() throws Exception {
    for (Behind each : servers) {
      each.script =
          asked -> {
            asked.body();
            asked.answer(503, each.name.getBytes(US_ASCII));
          };
    }
    try (Peer peer = peer()) {
      assertThat(peer.send(Peer.post("/m", "x")).answer()).isEqualTo("503 b");
      assertTold("shown 1", "a other UNAVAILABLE", "b other UNAVAILABLE", "b ended UNAVAILABLE");
    }
  }

  @Test
  void shouldPassOnARefusalOfALargeBody() throws Exception {
    a.script =
        asked -> {
          asked.body();
          asked.answer(503, new byte[] {'n'});
        };
    try (Peer peer = peer()) {
      assertThat(peer.send(Peer.post("/m", "x".repeat(100_000))).answer()).isEqualTo("503 n");
    }
    assertTold("shown 65536", "a ended UNAVAILABLE");
  }

  @Test
  void shouldSendALargeBodyToAnotherWhenOneCannotBeReached() throws Exception {
    a.close();
    String large = "x".repeat(1_000_000);
    try (Peer peer = peer()) {
      assertThat(peer.send(Peer.post("/m", large)).answer()).isEqualTo("200 " + large);
    }
    assertTold("shown 65536", "a other UNAVAILABLE unreached", "b ended OK");
  }

  @Test
  void shouldAskAnotherWhenOneIsGone() throws Exception {
    a.script =
        asked -> {
          throw new IOException("gone");
        };
    try (Peer peer = peer()) {
      assertThat(peer.send(Peer.post("/m", "x")).answer()).isEqualTo("200 x");
    }
    assertTold("shown 1", "a other UNAVAILABLE lost", "b ended OK");
  }

  @Test
  void shouldForgetTheAnswerOfOneThatIsFollowedHoweverLong() throws Exception {
    a.script =
        asked -> {
          asked.body();
          asked.write("HTTP/1.1 503 No\r\nContent-Length: 100000000\r\n\r\n");
          byte[] piece = new byte[1 << 16];
          while (true) {
            asked.socket.getOutputStream().write(piece);
          }
        };
    try (Peer peer = peer()) {
      assertThat(peer.send(Peer.post("/m", "x")).answer()).isEqualTo("200 x");
    }
  }

  // --- One beside the other.

  @Test
  void shouldTakeTheAnswerOfTheSecondAndEndTheRequestAtTheFirst() throws Exception {
    hedgeAfterNanos = 1_000_000;
    a.script = Behind.Asked::awaitEnd;
    b.script =
        asked -> {
          // The first may still be connecting to a.
          await(() -> a.asked.size() > a.ended.get());
          asked.echo();
        };
    try (Peer peer = peer()) {
      for (int i = 1; i <= 3; i++) {
        int ended = i;
        assertThat(peer.send(Peer.post("/m", "x")).answer()).isEqualTo("200 x");
        await(() -> a.ended.get() == ended);
        assertThat(Long.parseLong(b.next().field("spent"))).isGreaterThanOrEqualTo(1_000_000);
      }
    }
    assertThat(told.subList(0, 3)).containsExactly("shown 1", "a ended CANCELLED", "b ended OK");
    assertThat(b.connections).hasValue(1);
  }

  @Test
  void shouldTakeTheAnswerOfTheFirstWhenItComesFirst() throws Exception {
    hedgeAfterNanos = 1_000_000;
    CountDownLatch go = new CountDownLatch(1);
    a.script =
        asked -> {
          await(() -> go.getCount() == 0);
          asked.echo();
        };
    b.script = Behind.Asked::awaitEnd;
    try (Peer peer = peer()) {
      peer.send(Peer.post("/m", "x"));
      b.next();
      go.countDown();
      assertThat(peer.answer()).isEqualTo("200 x");
      await(() -> b.ended.get() == 1);
    }
    assertTold("shown 1", "b ended CANCELLED", "a ended OK");
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldWaitForTheOtherWhenOneCannotAnswer(boolean isFirst) throws Exception {
    hedgeAfterNanos = 1_000_000;
    Behind fails = isFirst ? a : b;
    Behind answers = isFirst ? b : a;
    CountDownLatch both = new CountDownLatch(2);
    fails.script =
        asked -> {
          both.countDown();
          await(() -> both.getCount() == 0);
          asked.body();
          asked.answer(503, NOTHING);
        };
    answers.script =
        asked -> {
          both.countDown();
          await(() -> told.contains(fails.name + " ended UNAVAILABLE"));
          asked.echo();
        };
    try (Peer peer = peer()) {
      assertThat(peer.send(Peer.post("/m", "x")).answer()).isEqualTo("200 x");
    }
    assertTold("shown 1", fails.name + " ended UNAVAILABLE", answers.name + " ended OK");
  }

  @Test
  void shouldEndTheRequestAtBothWhenItsClientHasGone() throws Exception {
    hedgeAfterNanos = 1_000_000;
    a.script = Behind.Asked::awaitEnd;
    b.script = Behind.Asked::awaitEnd;
    try (Peer peer = peer()) {
      peer.send(Peer.post("/m", "x"));
      a.next();
      b.next();
    }
    await(() -> a.ended.get() == 1 && b.ended.get() == 1);
    assertTold("shown 1", "b ended CANCELLED", "a ended CANCELLED");
  }

  @Test
  void shouldNotSendTwiceWhatIsNotHereOrWhileMemoryIsScarce() throws Exception {
    hedgeAfterNanos = 0;
    try (Peer peer = peer()) {
      assertThat(peer.send(Peer.post("/m", "x".repeat(100_000))).answer()).startsWith("200 x");
      long taken = (16 << 20) / 2;
      assertThat(memory.take(taken)).isNull();
      assertThat(peer.send(Peer.post("/m", "x")).answer()).isEqualTo("200 x");
      memory.giveBack(taken);
    }
    assertThat(b.asked).isEmpty();
  }
}

package dev.roundhouse.transport.forward;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.transport.http1.Peer;
import java.io.IOException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests over HTTP that are sent on. */
@Timeout(120)
class ForwardedRequestTest extends SentOnHttp {
  private final Behind a;

  ForwardedRequestTest() throws IOException {
    a = serve("a");
  }

  @BeforeEach
  void start() throws IOException {
    startFront(null);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 5_000, (64 << 10) - 1, 64 << 10, (64 << 10) + 1, 3_000_000})
  void shouldPassOnWhatItIsSent(int bytes) throws Exception {
    String body = "x".repeat(bytes);
    String chunks = chunk(body.substring(bytes / 3)) + chunk(body.substring(0, bytes / 3));
    try (Peer peer = peer()) {
      assertThat(peer.send(Peer.post("/m", body)).answer()).isEqualTo("200 " + body);
      peer.send(
          "POST /m HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
              + chunks
              + "0\r\n\r\n");
      assertThat(peer.answer()).isEqualTo("200 " + body);
    }
    assertThat(a.connections).hasValue(1);
    String shown = "shown " + Math.min(bytes, 64 << 10);
    await(() -> told.size() >= 4); // a large answer is there before its end is noted
    assertTold(shown, "a ended OK", shown, "a ended OK");
  }

  private static String chunk(String text) {
    return text.isEmpty() ? "" : Integer.toHexString(text.length()) + "\r\n" + text + "\r\n";
  }

  @Test
  void shouldPassOnHeadersButThoseOfAConnection() throws Exception {
    a.script =
        asked ->
            asked.answer(
                201,
                asked.body(),
                "Connection: keep-alive, x-hop",
                "X-Hop: 1",
                "Keep-Alive: timeout=5",
                "Date: never",
                "X-Two: 1",
                "X-Two: 2");
    try (Peer peer = peer()) {
      peer.send(
          "POST /m/infer?q=%20 HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nX-Echo: e\r\nTE: trailers\r\n"
              + "Connection: x-own\r\nX-Own: 1\r\nCaller: 7777\r\nSpent: 8\r\nOrigin: http://h\r\nAccept: a\r\nAccept: b\r\n\r\nx");
      String head = peer.head();
      assertThat(head)
          .startsWith("HTTP/1.1 201 ")
          .contains("X-Two: 1\r\n", "X-Two: 2\r\n", "X-Server: a\r\n", "Content-Length: 1\r\n")
          .doesNotContainIgnoringCase("x-hop")
          .doesNotContain("Keep-Alive", "never");
      assertThat(head.split("Date: ", -1)).hasSize(2);
      assertThat(peer.readBytes(1)).isOne();
    }
    Behind.Asked asked = a.next();
    assertThat(asked.head).startsWith("POST /m/infer?q=%20 HTTP/1.1\r\n");
    assertThat(asked.field("host")).isEqualTo("localhost:" + a.address().getPort());
    assertThat(asked.field("caller")).matches("[1-9][0-9]*").isNotEqualTo("7777");
    assertThat(asked.field("x-echo")).isEqualTo("e");
    assertThat(asked.field("accept")).isEqualTo("ab");
    for (String own : new String[] {"te", "connection", "x-own", "spent", "origin"}) {
      assertThat(asked.field(own)).as(own).isEmpty();
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "200 abcde|HTTP/1.1 200 OK~Transfer-Encoding: chunked~~3~abc~2~de~0~~",
        "200 abcde|HTTP/1.1 100 Continue~~HTTP/1.1 102 X~~HTTP/1.1 200 OK~Content-Length: 5~~abcde",
        "500 abcde|HTTP/1.1 500 No~Content-Length: 5~~abcde",
        "200 abcde|HTTP/1.0 200 OK~~abcde",
        "200 abcde|HTTP/1.1 200 OK~Connection: close~~abcde",
      })
  void shouldUnderstandAnswersHoweverTheyEnd(String answer, String sent) throws Exception {
    a.script =
        asked -> {
          asked.body();
          String text = sent.replace("~", "\r\n");
          asked.write(text);
          if (!text.contains("Content-Length") && !text.contains("chunked")) {
            throw new IOException("that ends it");
          }
        };
    try (Peer peer = peer()) {
      for (int i = 0; i < 3; i++) {
        assertThat(peer.send(Peer.post("/m", "x")).answer()).isEqualTo(answer);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"204 No Content", "304 Not Modified"})
  void shouldUnderstandAnswersWithoutABody(String line) throws Exception {
    a.script =
        asked -> {
          asked.body();
          asked.write("HTTP/1.1 " + line + "\r\nX-A: b\r\n\r\n");
        };
    try (Peer peer = peer()) {
      for (int i = 0; i < 3; i++) {
        assertThat(peer.send(Peer.post("/m", "x")).head())
            .startsWith("HTTP/1.1 " + line.substring(0, 3))
            .contains("X-A: b")
            .doesNotContain("chunked");
      }
    }
    assertThat(a.connections).hasValue(1);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "NONSENSE~~",
        "HTTP/1.1 abc OK~~",
        "HTTP/1.1 0 OK~Content-Length: 0~~",
        "HTTP/1.1 99999 OK~Content-Length: 0~~",
        "HTTP/1.1 200 OK~Content-Length: 3~Transfer-Encoding: chunked~~abc",
        "HTTP/1.1 200 OK~Content-Length: 3~Content-Length: 4~~abcd",
        "HTTP/1.1 200 OK~Content-Length: -3~~abcd",
        "HTTP/1.1 200 OK~A: b\0c~Content-Length: 0~~",
        "HTTP/1.1 200 OK~A: b\rc~Content-Length: 0~~",
        "HTTP/1.1 101 Switching Protocols~Upgrade: x~~",
        "HTTP/1.1 200 OK~Name: %s~~",
        "HTTP/1.1 200 OK~Content-Le",
      })
  void shouldRefuseAnswersThatAreNone(String sent) throws Exception {
    a.script =
        asked -> {
          asked.body();
          asked.write(sent.replace("%s", "x".repeat(100_000)).replace("~", "\r\n"));
          throw new IOException("that ends it");
        };
    try (Peer peer = peer()) {
      assertThat(peer.send(Peer.post("/m", "x")).answer())
          .startsWith("503 worker 'a' cannot be reached: ");
      assertThat(told.get(1)).isEqualTo("a other UNAVAILABLE lost");
      a.script = Behind.Asked::echo;
      assertThat(peer.send(Peer.post("/m", "y")).answer()).isEqualTo("200 y");
    }
  }

  @Test
  void shouldNotTakeASecondAnswerForThatOfTheNextRequest() throws Exception {
    a.script =
        asked -> {
          asked.body();
          a.script = Behind.Asked::echo;
          String answer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n";
          asked.write(answer + "this" + answer + "evil");
        };
    try (Peer peer = peer()) {
      peer.send(Peer.post("/m", "a") + Peer.post("/m", "b"));
      assertThat(peer.answer()).isEqualTo("200 this");
      assertThat(peer.answer()).isEqualTo("200 b");
    }
  }

  // --- Connections are kept.

  @Test
  void shouldSendARequestOnceMoreWhoseKeptConnectionIsClosed() throws Exception {
    try (Peer peer = peer()) {
      assertThat(peer.send(Peer.post("/m", "x")).answer()).isEqualTo("200 x");
      a.script =
          asked -> {
            a.script = Behind.Asked::echo;
            throw new IOException("closed before anything was read");
          };
      assertThat(peer.send(Peer.post("/m", "y")).answer()).isEqualTo("200 y");
      assertThat(a.connections).hasValue(2);
      assertThat(told).doesNotContain("a other UNAVAILABLE lost");

      String large = "z".repeat(100_000);
      a.script =
          asked -> {
            a.script = Behind.Asked::echo;
            throw new IOException("closed before anything was read");
          };
      assertThat(peer.send(Peer.post("/m", large)).answer())
          .as("part of it is not here any more")
          .startsWith("503 worker 'a' cannot be reached: ");
    }
  }

  @Test
  void shouldNotTakeARequestForUnseenWhoseServerThenIsGone() throws Exception {
    try (Peer peer = peer()) {
      assertThat(peer.send(Peer.post("/m", "x")).answer()).isEqualTo("200 x");
      a.script =
          asked -> {
            a.refuse();
            throw new IOException("this request has ended it");
          };
      assertThat(peer.send(Peer.post("/m", "y")).answer())
          .startsWith("503 worker 'a' cannot be reached: ");
      await(() -> told.getLast().startsWith("a ended UNAVAILABLE"));
      assertThat(told).endsWith("a other UNAVAILABLE lost", "a ended UNAVAILABLE lost");
    }
  }

  @Test
  void shouldNoticeThatAConnectionIsClosedWithoutARequest() throws Exception {
    a.script =
        asked -> {
          asked.echo();
          throw new IOException("that was the last");
        };
    try (Peer peer = peer()) {
      for (int i = 0; i < 20; i++) {
        assertThat(peer.send(Peer.post("/m", "x")).answer()).isEqualTo("200 x");
      }
    }
  }

  @Test
  void shouldAnswerInOrderWhatIsSentAhead() throws Exception {
    try (Peer peer = peer()) {
      StringBuilder all = new StringBuilder();
      for (int i = 0; i < 100; i++) {
        all.append(Peer.post("/m", "" + i));
      }
      peer.send(all.toString());
      for (int i = 0; i < 100; i++) {
        assertThat(peer.answer()).isEqualTo("200 " + i);
      }
    }
    assertThat(a.connections).hasValue(1);
  }

  @Test
  void shouldAskForABodyThatWaitsForIt() throws Exception {
    try (Peer peer = peer()) {
      peer.send("POST /m HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
      assertThat(peer.head()).isEqualTo(Peer.INTERIM);
      assertThat(peer.send("ab").answer()).isEqualTo("200 ab");
    }
    assertThat(a.next().field("expect")).isEmpty();
  }

  // --- What is refused here.

  @Test
  void shouldRefuseABodyThatIsTooLarge() throws Exception {
    front().close();
    mostBody = 100_000;
    startFront(null);
    try (Peer peer = peer()) {
      assertThat(peer.send(Peer.post("/m", "x".repeat(100_001))).answer())
          .isEqualTo("400 the request's body has 100001 bytes, the limit is 100000; send less");
      assertThat(a.connections).hasValue(0);
      String chunks = chunk("x".repeat(60_000)) + chunk("y".repeat(60_000));
      a.script = Behind.Asked::awaitEnd;
      peer.send(
          "POST /m HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
              + chunks
              + "0\r\n\r\n");
      assertThat(peer.answer())
          .isEqualTo("400 the request's body has more, the limit is 100000; send less");
      a.script = Behind.Asked::echo;
      assertThat(peer.send(Peer.post("/m", "x".repeat(100_000))).answer()).startsWith("200 xx");
    }
  }

  @Test
  void shouldRefuseRequestsThatThereIsNoMemoryFor() throws Exception {
    long taken = (16 << 20) / 8 * 6;
    assertThat(memory.take(taken)).isNull();
    try (Peer peer = peer()) {
      assertThat(peer.send(Peer.post("/m", "x")).answer())
          .startsWith("429 calls that are sent on hold ")
          .endsWith("for calls that begin, of 16777216; retry later, or wait");
      memory.giveBack(taken);
      assertThat(peer.send(Peer.post("/m", "x")).answer()).isEqualTo("200 x");
    }
  }

  @Test
  void shouldSayWhyThereIsNoServer() throws Exception {
    try (Peer peer = peer()) {
      assertThat(peer.send(Peer.post("/m", "nobody")).answer()).isEqualTo("503 no worker is ready");
      assertThat(peer.send(Peer.post("/m", "x")).answer()).isEqualTo("200 x");
    }
  }
}

package dev.roundhouse.transport.http1;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.transport.io.Leaks;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests whose bodies are taken as they come, and answered as they go. */
@Timeout(120)
class StreamedRequestTest {
  private static final int LARGE = 64 << 20;

  private @Nullable Served served;
  private final BlockingQueue<Streamed> begun = new LinkedBlockingQueue<>();
  private final AtomicInteger gone = new AtomicInteger();

  @BeforeEach
  void start() throws Exception {
    served = Served.start();
    served().streamed = Streamed::new;
  }

  @AfterEach
  void shouldHoldNothingWhenAllAreGone() throws Exception {
    await(() -> served().heldInAll() == 0);
    served().close();
    Leaks.awaitNone();
  }

  private Served served() {
    return Objects.requireNonNull(served);
  }

  @ParameterizedTest
  @CsvSource({"Content-Length: 5,hello", "Transfer-Encoding: chunked,'5\r\nhello\r\n0\r\n\r\n'"})
  void shouldAnswerAsTheBodyComes(String framing, String body) throws Exception {
    try (Peer peer = served().peer()) {
      for (int i = 0; i < 3; i++) {
        peer.send("POST /streamed/echo HTTP/1.1\r\nHost: a\r\n" + framing + "\r\n\r\n" + body);
        assertThat(peer.answer()).isEqualTo("200 hello");
      }
    }
  }

  @Test
  void shouldAnswerInTurnWhatIsSentAhead() throws Exception {
    try (Peer peer = served().peer()) {
      peer.send(
          Peer.post("/streamed/echo", "a")
              + Peer.post("/own/echo", "b")
              + Peer.post("/streamed/refuse", "c")
              + Peer.post("/streamed/echo", "d"));
      assertThat(peer.answer()).isEqualTo("200 a");
      assertThat(peer.answer()).isEqualTo("200 own b");
      assertThat(peer.answer()).isEqualTo("409 not now");
      assertThat(peer.answer()).isEqualTo("200 d");
    }
  }

  @Test
  void shouldAskForTheBodyUnlessItIsRefused() throws Exception {
    String waits =
        "POST /streamed/%s HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
    try (Peer peer = served().peer()) {
      assertThat(peer.send(waits.formatted("echo")).head()).isEqualTo(Peer.INTERIM);
      assertThat(peer.send("ab").answer()).isEqualTo("200 ab");
      assertThat(peer.send(waits.formatted("refuse")).answer()).isEqualTo("409 not now");
      assertThat(peer.rest()).as("nobody knows whether the body comes").isEmpty();
    }
  }

  @Test
  void shouldReadNoMoreThanItIsTold() throws Exception {
    try (Peer peer = served().peer()) {
      AtomicLong sent = new AtomicLong();
      peer.send(
          "POST /streamed/pause HTTP/1.1\r\nHost: a\r\nContent-Length: " + LARGE + "\r\n\r\n");
      Thread sending = Thread.ofVirtual().start(() -> send(peer, sent));
      Streamed request = next();
      await(() -> request.bytes.get() > 0);
      awaitNoMore(sent);
      assertThat(request.bytes).hasValueLessThanOrEqualTo(2L << 16);
      assertThat(sent).hasValueLessThan(LARGE / 2);
      request.on(() -> request.client().read(true));
      assertThat(peer.answer()).isEqualTo("200 " + LARGE);
      sending.join();
    }
  }

  @Test
  void shouldSayWhenTheClientTakesNoMore() throws Exception {
    try (Peer peer = served().peer()) {
      peer.send(Peer.post("/streamed/wide", "x"));
      Streamed request = next();
      await(() -> !request.writes);
      assertThat(request.written.get()).isLessThan(LARGE / 2);
      peer.head();
      assertThat(peer.readBytes(LARGE)).isEqualTo(LARGE);
      assertThat(request.written).hasValue(LARGE);
      assertThat(peer.send(Peer.post("/streamed/echo", "x")).answer()).isEqualTo("200 x");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"later", "wide"})
  void shouldSayThatTheClientHasGone(String how) throws Exception {
    try (Peer peer = served().peer()) {
      peer.send(Peer.post("/streamed/" + how, "x"));
      next();
    }
    await(() -> gone.get() == 1);
  }

  @Test
  void shouldSayThatTheClientHasGoneWithinItsBody() throws Exception {
    try (Peer peer = served().peer()) {
      peer.send("POST /streamed/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhe");
      next();
    }
    await(() -> gone.get() == 1);
  }

  @Test
  void shouldRefuseABodyThatIsMalformed() throws Exception {
    try (Peer peer = served().peer()) {
      peer.send(
          "POST /streamed/echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n");
      assertThat(peer.answer()).startsWith("400 the request's body is malformed");
      assertThat(peer.rest()).isEmpty();
      assertThat(gone).hasValue(1);
    }
  }

  @Test
  void shouldForgetTheRestOfABodyThatIsAnsweredEarly() throws Exception {
    try (Peer peer = served().peer()) {
      peer.send(Peer.post("/streamed/refuse", "x".repeat(5_000_000)));
      assertThat(peer.answer()).isEqualTo("409 not now");
      assertThat(peer.send(Peer.post("/streamed/echo", "x")).answer()).isEqualTo("200 x");
    }
  }

  @Test
  void shouldCloseTheConnectionWhenTheAnswerCannotBeEnded() throws Exception {
    try (Peer peer = served().peer()) {
      peer.send(Peer.post("/streamed/abort", "x"));
      assertThat(peer.rest()).startsWith("HTTP/1.1 200").endsWith("half");
    }
    try (Peer peer = served().peer()) {
      peer.send(Peer.post("/streamed/throw", "x"));
      assertThat(peer.rest()).isEmpty();
    }
  }

  @Test
  void shouldRefuseABodyThatStalls() throws Exception {
    served().close();
    served = Served.start(new Http1Settings.Limits(100, 10, 8192, -1), Duration.ofMillis(500));
    served().streamed = Streamed::new;
    try (Peer peer = served().peer()) {
      peer.send("POST /streamed/later HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhe");
      assertThat(peer.answer()).startsWith("504 the request's body has stopped arriving");
      assertThat(peer.rest()).isEmpty();
    }
    assertThat(gone).hasValue(1);
  }

  @Test
  void shouldEndTheAnswerWithTheConnectionForAnOldClient() throws Exception {
    try (Peer peer = served().peer()) {
      peer.send("POST /streamed/echo HTTP/1.0\r\nContent-Length: 2\r\n\r\nab");
      assertThat(peer.rest())
          .startsWith("HTTP/1.1 200")
          .doesNotContain("chunked")
          .endsWith("\r\n\r\nab");
    }
  }

  // --- of this test

  private Streamed next() throws InterruptedException {
    return Objects.requireNonNull(begun.poll(30, TimeUnit.SECONDS));
  }

  private static void send(Peer peer, AtomicLong sent) {
    byte[] piece = new byte[1 << 16];
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
  private static void awaitNoMore(AtomicLong sent) {
    long since = System.nanoTime();
    for (long last = sent.get(); System.nanoTime() - since < 300_000_000; ) {
      long now = sent.get();
      if (now != last) {
        last = now;
        since = System.nanoTime();
      }
      Thread.onSpinWait();
    }
  }

  private static void await(BooleanSupplier condition) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).as("in time").isLessThan(end);
      Thread.onSpinWait();
    }
  }

  /** Does what its name says. */
  private final class Streamed implements StreamedRequestHandler {
    private final String name;
    final AtomicLong bytes = new AtomicLong();
    final AtomicLong written = new AtomicLong();
    volatile boolean writes = true;
    private @Nullable StreamedRequest request;

    Streamed(String name) {
      this.name = name;
    }

    StreamedRequest client() {
      return Objects.requireNonNull(request);
    }

    void on(Runnable task) {
      client().loop().execute(task);
    }

    @Override
    public void begin(StreamedRequest request) {
      this.request = request;
      switch (name) {
        case "refuse" -> request.refuse(409, "not now");
        case "throw" -> throw new IllegalStateException("as asked");
        default -> {}
      }
      begun.add(this);
    }

    @Override
    public void body(ByteBuf data, boolean last) {
      long before = bytes.getAndAdd(data.readableBytes());
      if (name.equals("echo")) {
        if (before == 0) {
          client().answer(200, -1, new DefaultHttpHeaders());
        }
        client().write(data);
      } else {
        data.release();
      }
      if (name.equals("pause") && before == 0) {
        client().read(false);
      }
      if (last) {
        whole();
      }
    }

    private void whole() {
      switch (name) {
        case "echo" -> client().end(() -> {});
        case "pause" -> text(String.valueOf(bytes.get()), true);
        case "abort" -> {
          text("half", false);
          client().flush();
          client().abort();
        }
        case "wide" -> {
          client().answer(200, LARGE, new DefaultHttpHeaders());
          writableChanged();
        }
        default -> {}
      }
    }

    private void text(String text, boolean all) {
      HttpHeaders headers = new DefaultHttpHeaders();
      client().answer(200, text.length() + (all ? 0 : 10), headers);
      client().write(Unpooled.copiedBuffer(text, StandardCharsets.US_ASCII));
      if (all) {
        client().end(() -> {});
      }
    }

    @Override
    public void writableChanged() {
      if (!name.equals("wide")) {
        return;
      }
      while (client().isWritable() && written.get() < LARGE) {
        client().write(Unpooled.wrappedBuffer(new byte[1 << 16]));
        client().flush();
        written.addAndGet(1 << 16);
      }
      writes = client().isWritable();
      if (written.get() == LARGE) {
        client().end(() -> {});
      }
    }

    @Override
    public void gone() {
      gone.incrementAndGet();
    }
  }
}

package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.transport.memory.PeerMemory;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** Clients that are slow, or go away, or send too much, harm nobody and leave nothing behind. */
@Timeout(120)
@ExtendWith(OutputCaptureExtension.class)
class RestClientsTest {

  private static final int SLOW_SENDERS = 1_000;
  private static final int WIDE = 1 << 22;
  private static final int THREE_MEGABYTES = 3_000_000;
  private static final String BODY =
      "{\"inputs\":[{\"name\":\"x\",\"shape\":[1,2],\"datatype\":\"FP32\",\"data\":[1,2]}]}";
  private static final Gate GATE = new Gate();
  @TempDir static Path repository;
  private static RunningWorker worker;

  private final List<Socket> sockets = new ArrayList<>();

  @BeforeAll
  static void start() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "double");
    TestBundle.doubling(WIDE, 1).write(repository, "wide");
    worker =
        new RunningWorker(repository, GATE, "--roundhouse.worker.scheduler.max-queued-bytes=80MB")
            .awaitLoaded();
  }

  @AfterAll
  static void stop() {
    worker.close();
  }

  @AfterEach
  void shouldHaveLeftNothingBehind(CapturedOutput output) throws IOException {
    GATE.open();
    for (Socket socket : sockets) {
      socket.close();
    }
    await(() -> engine().openRequests() == 0 && worker.holdsNothing());
    assertThat(output).doesNotContain("WARN").doesNotContain("ERROR").doesNotContain("Exception");
  }

  @Test
  void shouldServeOthersWhileManySendSlowly() throws Exception {
    for (int i = 0; i < SLOW_SENDERS; i++) {
      send(open(), head(BODY.length()) + BODY.substring(0, 10));
    }

    assertThat(RestTest.text(infer().get(30, TimeUnit.SECONDS))).startsWith("200 ");
    assertThat(worker.get("http", "/v2/health/ready")).startsWith("200 ");
    Socket last = sockets.getLast();
    send(last, BODY.substring(10));
    assertThat(head(last)).startsWith("HTTP/1.1 200");
  }

  @Test
  void shouldCancelARequestWhoseClientHasGone() throws Exception {
    long cancelled = cancelled();
    GATE.shut();
    var running = infer();
    GATE.awaitArrival();
    Socket waiting = open();
    send(waiting, head(BODY.length()) + BODY);
    await(() -> engine().openRequests() == 2);

    waiting.close();

    await(() -> engine().openRequests() == 1);
    assertThat(cancelled()).isEqualTo(cancelled + 1);
    GATE.open();
    assertThat(RestTest.text(running.get(30, TimeUnit.SECONDS))).contains("[2.0,4.0]");
  }

  /** 3 MB that are 18 MB by the wire; a server that stacks its chunks ends there. */
  @Test
  void shouldAnswerABodyOfThreeMegabytesInChunksOfOneByte() throws Exception {
    String padded = " ".repeat(THREE_MEGABYTES - BODY.length()) + BODY;
    StringBuilder chunks = new StringBuilder(6 * THREE_MEGABYTES);
    padded.chars().forEach(each -> chunks.append("1\r\n").append((char) each).append("\r\n"));
    Socket socket = open();
    send(
        socket,
        "POST /v2/models/double/infer HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    send(socket, chunks + "0\r\n\r\n");
    assertThat(head(socket)).startsWith("HTTP/1.1 200");
  }

  @Test
  void shouldAnswerRequestsThatWereSentWithoutWaiting() throws Exception {
    GATE.shut();
    Socket socket = open();
    send(socket, (head(BODY.length()) + BODY).repeat(3));
    GATE.awaitArrival();
    long cancelled = cancelled();
    Socket gone = open();
    send(gone, head(BODY.length()) + BODY);
    await(() -> engine().openRequests() == 2);
    gone.close();
    await(() -> cancelled() == cancelled + 1); // by then it was looked whether clients are there
    GATE.open();
    for (int i = 0; i < 3; i++) {
      String head = head(socket);
      assertThat(head).startsWith("HTTP/1.1 200");
      int length = Integer.parseInt(head.replaceAll("(?s).*Content-Length: (\\d+).*", "$1"));
      assertThat(new String(socket.getInputStream().readNBytes(length), StandardCharsets.UTF_8))
          .endsWith("[2.0,4.0]}]}");
    }
  }

  /** Between, it is asked whether it is there. */
  @Test
  void shouldAnswerAClientThatSendsNoMoreHoweverLongThatTakes() throws Exception {
    long cancelled = cancelled();
    GATE.shut();
    Socket socket = open();
    send(socket, head(BODY.length()) + BODY);
    socket.shutdownOutput();
    GATE.awaitArrival();
    for (int i = 0; i < 3; i++) {
      assertThat(head(socket)).isEqualTo("HTTP/1.1 100 Continue\r\n\r\n");
    }
    GATE.open();
    assertThat(new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
        .contains("HTTP/1.1 200")
        .endsWith("[2.0,4.0]}]}");
    assertThat(cancelled()).isEqualTo(cancelled);
  }

  @Test
  void shouldCancelARequestWhoseClientGoesAfterItHasSentAll() throws Exception {
    long cancelled = cancelled();
    GATE.shut();
    var running = infer();
    GATE.awaitArrival();
    Socket waiting = open();
    send(waiting, head(BODY.length()) + BODY);
    waiting.shutdownOutput();
    assertThat(head(waiting)).startsWith("HTTP/1.1 100");
    assertThat(engine().openRequests()).isEqualTo(2);
    waiting.close();
    await(() -> engine().openRequests() == 1);
    assertThat(cancelled()).isEqualTo(cancelled + 1);
    GATE.open();
    assertThat(RestTest.text(running.get(30, TimeUnit.SECONDS))).contains("[2.0,4.0]");
  }

  @Test
  void shouldFreeAnAnswerThatIsNotReadWhenItsClientGoes() throws Exception {
    byte[] tensor = new byte[4 * WIDE];
    for (int i = 0; i < 2; i++) {
      Socket socket = open();
      send(
          socket,
          "POST /v2/models/wide/infer HTTP/1.1\r\nHost: a\r\nInference-Header-Content-Length: 0\r\nContent-Length: "
              + tensor.length
              + "\r\n\r\n");
      socket.getOutputStream().write(tensor);
      assertThat(head(socket)).startsWith("HTTP/1.1 200"); // and no more is read
    }
    assertThat(engine().heldBytes()).isPositive();
    assertThat(RestTest.text(infer().get(30, TimeUnit.SECONDS))).startsWith("200 ");
  }

  @Test
  void shouldHoldWhatHasComeAndNotWhatWasAnnounced() throws Exception {
    for (int i = 0; i < 10; i++) {
      send(open(), head(500 << 20) + "{");
    }
    PeerMemory memory = worker.bean(PeerMemory.class);
    await(() -> memory.held(Kept.BODY) > 0);
    assertThat(engine().heldBytes()).isBetween(1L, 10L << 20);
    assertThat(RestTest.text(infer().get(30, TimeUnit.SECONDS))).startsWith("200 ");
  }

  @Test
  void shouldRefuseWithTheNumbersWhenBodiesHoldTooMuch() throws Exception {
    var answer =
        worker.send(
            worker
                .http("/v2/models/double/infer")
                .POST(BodyPublishers.ofByteArray(new byte[100 << 20])));

    assertThat(RestTest.text(answer))
        .startsWith("429 {\"error\":\"the connection holds ")
        .contains("one connection may hold 62914560", "retry later");
  }

  @Test
  void shouldForgetARequestThatIsCutOff() throws Exception {
    Socket socket = open();
    send(socket, head(1000) + BODY);
    PeerMemory memory = worker.bean(PeerMemory.class);
    await(() -> memory.held(Kept.BODY) > 0);

    socket.close();

    await(() -> memory.held(Kept.BODY) == 0);
  }

  @Test
  void shouldRefuseChunksThatAreNone() throws Exception {
    Socket socket = open();
    send(
        socket,
        "POST /v2/models/double/infer HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n");

    assertThat(head(socket)).startsWith("HTTP/1.1 400");
  }

  private static String head(long length) {
    return "POST /v2/models/double/infer HTTP/1.1\r\nHost: a\r\nContent-Length: "
        + length
        + "\r\n\r\n";
  }

  private Socket open() throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), worker.port("http"));
    socket.setSoTimeout(60_000);
    sockets.add(socket);
    return socket;
  }

  private static void send(Socket socket, String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(StandardCharsets.UTF_8));
  }

  /** Reads up to the empty line. */
  private static String head(Socket socket) throws IOException {
    StringBuilder head = new StringBuilder();
    InputStream in = socket.getInputStream();
    while (head.indexOf("\r\n\r\n") < 0) {
      int next = in.read();
      assertThat(next).as("end of the connection after '%s'", head).isNotNegative();
      head.append((char) next);
    }
    return head.toString();
  }

  private static CompletableFuture<HttpResponse<byte[]>> infer() {
    return worker.sendAsync(
        worker.http("/v2/models/double/infer").POST(BodyPublishers.ofString(BODY)));
  }

  private static long cancelled() {
    return engine().reports().counters("double").orElseThrow().get(Metric.CANCELLED);
  }

  private static Engine engine() {
    return worker.bean(Engine.class);
  }

  private static void await(Condition condition) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (!condition.holds()) {
      assertThat(System.nanoTime()).as("in time").isLessThan(end);
      Thread.onSpinWait();
    }
  }

  private interface Condition {
    boolean holds();
  }
}

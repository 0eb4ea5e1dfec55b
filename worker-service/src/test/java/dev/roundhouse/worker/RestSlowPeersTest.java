package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.testing.TestBundle;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** Clients of HTTP that send or read next to nothing are ended, and hold nothing afterwards. */
@Timeout(120)
@ExtendWith(OutputCaptureExtension.class)
class RestSlowPeersTest {

  /** Between two bytes of a client that trickles: many in the time that it is allowed. */
  private static final int TRICKLE_MILLIS = 20;

  private static final int WIDE = 1 << 22;
  @TempDir static Path repository;
  private static RunningWorker worker;

  private final List<Socket> sockets = new ArrayList<>();

  @BeforeAll
  static void start() throws Exception {
    TestBundle.doubling(WIDE, 1).write(repository, "wide");
    worker =
        new RunningWorker(
                repository,
                TestBundle.DOUBLE,
                "--roundhouse.worker.server.stalled-message-timeout=1s",
                "--roundhouse.worker.server.http.connection-timeout=3s")
            .awaitLoaded();
  }

  @AfterAll
  static void stop() {
    worker.close();
  }

  @AfterEach
  void shouldHaveLeftNothingBehind(CapturedOutput output) throws IOException {
    for (Socket socket : sockets) {
      socket.close();
    }
    awaitNothingHeld();
    assertThat(output).doesNotContain("WARN").doesNotContain("ERROR").doesNotContain("Exception");
  }

  @ParameterizedTest
  @ValueSource(strings = {"http", "metrics"})
  void shouldCloseOnAHeadThatTrickles(String port) throws Exception {
    Socket socket = open(port);
    send(socket, "GET /v2 HTTP/1.1\r\nHost: a\r\nName: ");
    trickle(socket);
    assertThat(everything(socket)).isEmpty();
  }

  @Test
  void shouldRefuseABodyThatTrickles() throws Exception {
    Socket socket = open();
    send(socket, head("/v2/models/wide/infer"));
    trickle(socket);
    assertThat(everything(socket))
        .startsWith("HTTP/1.1 504")
        .contains("the request's body has stopped arriving", "stalled-message-timeout");
  }

  @Test
  void shouldNotWaitForABodyThatNobodyWants() throws Exception {
    Socket socket = open();
    send(socket, head("/v2/nothing"));
    trickle(socket);
    assertThat(everything(socket)).startsWith("HTTP/1.1 404");
  }

  @Test
  void shouldTellBeforeItTakesABodyThatNobodyWants() throws Exception {
    Socket socket = open();
    send(socket, head("/v2/nothing"));
    byte[] first = socket.getInputStream().readNBytes(12);
    assertThat(new String(first, StandardCharsets.US_ASCII)).isEqualTo("HTTP/1.1 404");
    send(socket, "x".repeat(1 << 20));
    send(socket, "GET /v2/health/live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assertThat(everything(socket)).contains("HTTP/1.1 200");
  }

  @Test
  void shouldRefuseMorePropertiesThanARequestMayHave() throws Exception {
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    try (OutputStream json = new GZIPOutputStream(body)) {
      json.write('{');
      for (int i = 0; i < 1_000_000; i++) {
        json.write(("\"" + i + "\":0,").getBytes(StandardCharsets.US_ASCII));
      }
      json.write("\"id\":\"\"}".getBytes(StandardCharsets.US_ASCII));
    }
    Socket socket = open();
    send(
        socket,
        "POST /v2/models/wide/infer HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Encoding: gzip\r\nContent-Length: "
            + body.size()
            + "\r\n\r\n");
    socket.getOutputStream().write(body.toByteArray());
    assertThat(everything(socket))
        .startsWith("HTTP/1.1 400")
        .contains("an object has more than 20000 properties");
  }

  @Test
  void shouldGiveUpAnAnswerThatIsNotRead() throws Exception {
    Socket socket = open();
    send(
        socket,
        "POST /v2/models/wide/infer HTTP/1.1\r\nHost: a\r\nInference-Header-Content-Length: 0\r\nContent-Length: "
            + 4 * WIDE
            + "\r\n\r\n");
    socket.getOutputStream().write(new byte[4 * WIDE]);
    assertThat(socket.getInputStream().read()).isEqualTo('H'); // and no more is read
    awaitNothingHeld();
  }

  private static String head(String path) {
    return "POST "
        + path
        + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
        + (1 << 20)
        + "\r\n\r\n";
  }

  private Socket open() throws IOException {
    return open("http");
  }

  private Socket open(String port) throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), worker.port(port));
    socket.setSoTimeout(60_000);
    sockets.add(socket);
    return socket;
  }

  private static void send(Socket socket, String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
  }

  /** Sends a byte now and then until the connection is closed. */
  private static void trickle(Socket socket) throws Exception {
    try {
      while (true) {
        send(socket, "x");
        Thread.sleep(TRICKLE_MILLIS);
      }
    } catch (SocketException closed) {
      return;
    }
  }

  /** What has been answered until the connection was closed. */
  private static String everything(Socket socket) throws IOException {
    StringBuilder text = new StringBuilder();
    try {
      for (int next = socket.getInputStream().read();
          next >= 0;
          next = socket.getInputStream().read()) {
        text.append((char) next);
      }
    } catch (SocketException reset) {
      return text.toString();
    }
    return text.toString();
  }

  private static void awaitNothingHeld() {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (worker.bean(Engine.class).heldBytes() > 0) {
      assertThat(System.nanoTime()).as("in time").isLessThan(end);
      Thread.onSpinWait();
    }
  }
}

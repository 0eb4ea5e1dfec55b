package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.worker.lifecycle.Readiness;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What becomes of requests over HTTP when the worker stops. */
@Timeout(60)
class RestShutdownTest {

  private static final String DRAIN = "--roundhouse.worker.shutdown.drain=";
  private static final String BODY =
      "{\"inputs\":[{\"name\":\"x\",\"shape\":[1,2],\"datatype\":\"FP32\",\"data\":[1,2]}]}";

  private final Gate gate = new Gate();
  @TempDir Path repository;

  @Test
  void shouldAnswerAcceptedRequestsBeforeItStops() throws Exception {
    try (RunningWorker worker = start("30s")) {
      gate.shut();
      var running = infer(worker);
      gate.awaitArrival();

      Thread stopping = Thread.ofPlatform().name("stop").start(worker::stop);
      while (worker.bean(Readiness.class).isReady()) {
        Thread.onSpinWait();
      }
      gate.open();

      assertThat(RestTest.text(running.get(30, TimeUnit.SECONDS))).contains("[2.0,4.0]");
      stopping.join();
    }
  }

  @Test
  void shouldLoseNoRequestOfABusyClientWhenItStops() throws Exception {
    try (RunningWorker worker = start("30s")) {
      int port = worker.port("http");
      AtomicInteger answered = new AtomicInteger();
      CompletableFuture<String> client =
          CompletableFuture.supplyAsync(() -> lastHead(port, answered));
      while (answered.get() < 10 && !client.isDone()) {
        Thread.onSpinWait();
      }
      worker.stop();
      assertThat(client.get(60, TimeUnit.SECONDS)).startsWith("HTTP/1.1 200");
    }
  }

  /** One request after the other, until an answer says that it is the last. */
  private static String lastHead(int port, AtomicInteger answered) {
    String request =
        "POST /v2/models/double/infer HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s"
            .formatted(BODY.length(), BODY);
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.setSoTimeout(60_000);
      InputStream in = new BufferedInputStream(socket.getInputStream());
      StringBuilder head = new StringBuilder();
      while (head.indexOf("Connection: close") < 0) {
        socket.getOutputStream().write(request.getBytes(StandardCharsets.UTF_8));
        head.setLength(0);
        while (head.indexOf("\r\n\r\n") < 0) {
          int next = in.read();
          assertThat(next).as("the connection ended after '%s'", head).isNotNegative();
          head.append((char) next);
        }
        in.readNBytes(
            Integer.parseInt(head.toString().replaceAll("(?s).*Content-Length: (\\d+).*", "$1")));
        answered.incrementAndGet();
      }
      return head.toString();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void shouldTellWhoStillWaitsWhenTheBudgetIsSpent() throws Exception {
    try (RunningWorker worker = start("100ms")) {
      gate.shut();
      var running = infer(worker);
      gate.awaitArrival();
      var waiting = infer(worker);
      while (worker.bean(Engine.class).openRequests() < 2) {
        Thread.onSpinWait();
      }

      Thread stopping = Thread.ofPlatform().name("stop").start(worker::stop);
      while (!ShutdownTest.isClosingDispatch()) {
        Thread.onSpinWait();
      }
      gate.open();
      stopping.join();

      assertThat(running).isDone();
      assertThat(RestTest.text(waiting.get(30, TimeUnit.SECONDS)))
          .startsWith("503 {\"error\":\"Server exiting");
    }
  }

  @Test
  void shouldGiveUpABodyThatDoesNotCome() throws Exception {
    try (RunningWorker worker = start("100ms");
        Socket silent = sendingNothingMore(worker)) {
      Engine engine = worker.bean(Engine.class);
      worker.stop();

      assertThat(engine.heldBytes()).isZero();
      assertThat(silent.getInputStream().readAllBytes()).isEmpty();
    }
  }

  /** A request that has begun, and of whose body a byte has come. */
  private static Socket sendingNothingMore(RunningWorker worker) throws Exception {
    Socket silent = new Socket(InetAddress.getLoopbackAddress(), worker.port("http"));
    silent
        .getOutputStream()
        .write(
            "POST /v2/models/double/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{"
                .getBytes(StandardCharsets.UTF_8));
    while (worker.bean(Engine.class).heldBytes() == 0) {
      Thread.onSpinWait();
    }
    return silent;
  }

  private RunningWorker start(String drain) throws Exception {
    TestBundle.doubling(2, 1).write(repository, "double");
    return new RunningWorker(repository, gate, DRAIN + drain).awaitLoaded();
  }

  private static CompletableFuture<HttpResponse<byte[]>> infer(RunningWorker worker) {
    return worker.sendAsync(
        worker.http("/v2/models/double/infer").POST(BodyPublishers.ofString(BODY)));
  }
}

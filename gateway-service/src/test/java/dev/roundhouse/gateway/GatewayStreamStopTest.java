package dev.roundhouse.gateway;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import dev.roundhouse.gateway.stream.StreamGate;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.kserve.tstream.ServerReply;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.platform.lifecycle.FailStopExit;
import dev.roundhouse.platform.tstream.StreamPort;
import dev.roundhouse.transport.io.LoopEnd;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

/** What becomes of streams when a gateway stops, fails, or cannot begin. */
@Timeout(180)
class GatewayStreamStopTest extends StreamsThroughGateway {
  @Test
  void shouldRefuseHellosAndLetStreamsEndWhenItStops() throws Exception {
    RunningGateway own =
        new RunningGateway(
            List.of(w0),
            "--roundhouse.gateway.stream.port=0",
            "--roundhouse.gateway.stream.address=127.0.0.1",
            "--roundhouse.gateway.shutdown.drain=30s");
    own.awaitReady(1);
    int port = own.bean(StreamGate.class).port();
    try (Line client = Line.to(port);
        Line greeting = Line.to(port)) {
      client.greet(hello("left"));
      Line at = s0.next();
      RunningGateway.await(
          "both are there", () -> own.bean(StreamGate.class).counts().connections() == 2);
      CompletableFuture<Void> closed =
          CompletableFuture.runAsync(own::close, Thread::startVirtualThread);
      assertThat(greeting.reply())
          .isEqualTo(ServerReply.refused(HelloStatus.NOT_READY, "Server exiting"));
      try (Line late = Line.to(port)) {
        assertThat(late.reply().text()).isEqualTo("Server exiting");
      }
      client.send(new byte[] {5});
      assertThat(at.read(1)).containsExactly(5);
      at.send(new byte[] {6});
      assertThat(client.read(1)).containsExactly(6);
      assertThat(closed).isNotDone();
      at.close();
      assertThat(client.isOver()).isTrue();
      client.close();
      closed.get(25, TimeUnit.SECONDS);
    }
  }

  @Test
  void shouldEndStreamsThatOutlastTheTimeToDrain() throws Exception {
    RunningGateway own =
        new RunningGateway(
            List.of(w0),
            "--roundhouse.gateway.stream.port=0",
            "--roundhouse.gateway.stream.address=127.0.0.1",
            "--roundhouse.gateway.shutdown.drain=200ms");
    own.awaitReady(1);
    try (Line client = Line.to(own.bean(StreamGate.class).port())) {
      client.greet(hello("left"));
      try (Line at = s0.next()) {
        own.close();
        assertThat(client.isOver()).isTrue();
        assertThat(at.isOver()).isTrue();
      }
    }
  }

  @Test
  void shouldNotStartWhereWorkersAreSpokenToByTls() throws Exception {
    WorkerKeys keys = new WorkerKeys(folder);
    assertThatThrownBy(
            () ->
                new RunningGateway(
                    List.of(w0), keys.settings("--roundhouse.gateway.stream.port=0")))
        .rootCause()
        .isInstanceOfSatisfying(
            StartRefusedException.class,
            refused -> {
              assertThat(refused)
                  .hasMessage(
                      "roundhouse.gateway.stream is on and roundhouse.gateway.tls.bundle is 'workers', and tensor streams to workers are plain text.");
              assertThat(refused.action())
                  .isEqualTo(
                      "Remove roundhouse.gateway.stream.port and .socket; or, on a network that you trust, tls.bundle.");
            });
  }

  @Test
  void shouldNotStartWhereItsPortIsTaken() throws Exception {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
      String port = "--roundhouse.gateway.stream.port=" + taken.getLocalPort();
      assertThatThrownBy(
              () ->
                  new RunningGateway(
                      List.of(w0), port, "--roundhouse.gateway.stream.address=127.0.0.1"))
          .hasStackTraceContaining(
              "Tensor streams cannot be taken at roundhouse.gateway.stream.port="
                  + taken.getLocalPort());
    }
  }

  @Test
  void shouldBeNeitherReadyNorAliveAndExitWhenAThreadOfItsStreamsIsGone() throws Exception {
    Logger log = (Logger) LoggerFactory.getLogger(StreamPort.class);
    try (RunningGateway own =
        new RunningGateway(
            List.of(w0),
            "--roundhouse.gateway.stream.port=0",
            "--roundhouse.gateway.stream.address=127.0.0.1")) {
      own.awaitReady(1);
      assertThat(own.send("GET", "/v2/health/ready", "").statusCode()).isEqualTo(200);
      EndingLoop ending = new EndingLoop();
      ending.start();
      log.addAppender(ending);
      log.setLevel(Level.DEBUG);
      try (Line client = Line.to(own.bean(StreamGate.class).port())) {
        client.send("no hello".getBytes(US_ASCII)); // its refusal is logged by its loop
        assertThat(own.exited().get(60, TimeUnit.SECONDS)).isEqualTo(FailStopExit.CODE);
      } finally {
        log.detachAppender(ending);
        log.setLevel(null);
      }
      assertThat(own.send("GET", "/v2/health/live", "").statusCode()).isEqualTo(503);
      assertThat(own.send("GET", "/v2/health/ready", "").statusCode()).isEqualTo(503);
      assertThat(own.management("/actuator/health/liveness")).contains("DOWN");
    }
  }

  /** Ends the event loop that logs. */
  private static final class EndingLoop extends AppenderBase<ILoggingEvent> {
    @Override
    protected void append(ILoggingEvent event) {
      if (event.getMessage().startsWith("a stream of")) {
        LoopEnd.ofThisThread();
      }
    }
  }
}

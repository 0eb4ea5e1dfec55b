package dev.roundhouse.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.transport.io.TestKeys;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.cert.Certificate;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.core.env.Environment;
import org.springframework.grpc.server.lifecycle.GrpcServerLifecycle;

/** What a gateway takes from whom, and by which certificates. */
@Timeout(180)
@ExtendWith(OutputCaptureExtension.class)
class GatewayDoorsTest {
  @TempDir Path first;
  @TempDir Path second;

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Content-Length: 3\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 3",
        "Content-Length: 3\r\nContent-Length: 4"
      })
  void shouldRefuseTwoLengthsAndCloseTheConnection(String lengths) throws Exception {
    try (FakeWorker worker = new FakeWorker("w0", "m");
        RunningGateway gateway = new RunningGateway(List.of(worker))) {
      gateway.awaitReady(1);
      String answers =
          exchange(
              gateway,
              "POST /v2/models/m/infer HTTP/1.1\r\nHost: localhost\r\n"
                  + lengths
                  + "\r\n\r\n0\r\n\r\nPOST /v2/models/m/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}");
      assertThat(answers)
          .startsWith("HTTP/1.1 400")
          .containsOnlyOnce("HTTP/1.1 4")
          .doesNotContain("HTTP/1.1 2");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"my_worker:8000", "a_b", "a.b_c:1"})
  void shouldTakeNamesWithUnderscores(String host) throws Exception {
    try (FakeWorker worker = new FakeWorker("w0", "m");
        RunningGateway gateway = new RunningGateway(List.of(worker))) {
      gateway.awaitReady(1);
      String asked = " HTTP/1.1\r\nConnection: close\r\nHost: " + host + "\r\n\r\n";
      assertThat(exchange(gateway, "GET /v2/health/ready" + asked)).startsWith("HTTP/1.1 200");
      assertThat(exchange(gateway, "local.management.port", "GET /metrics" + asked))
          .startsWith("HTTP/1.1 200");
      assertThat(exchange(gateway, "GET /v2 HTTP/1.1\r\nHost: a_b/c\r\n\r\n"))
          .startsWith("HTTP/1.1 400");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"local.server.port", "local.management.port"})
  void shouldTellAClientThatSendsAllBeforeItReads(String port) throws Exception {
    try (FakeWorker worker = new FakeWorker("w0", "m");
        RunningGateway gateway =
            new RunningGateway(
                List.of(worker), "--roundhouse.gateway.server.max-message-size=8MB")) {
      gateway.awaitReady(1);
      String body = "x".repeat(30_000_000);
      assertThat(
              exchange(
                  gateway,
                  port,
                  "POST /v2/models/m/infer HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: "
                      + body.length()
                      + "\r\n\r\n"
                      + body))
          .matches("(?s)HTTP/1.1 40[04] .*");
    }
  }

  /** Its worker takes longer than the gateway takes to ask whether its client is there. */
  @Test
  void shouldAnswerAClientThatSendsNoMoreHoweverLongThatTakes() throws Exception {
    try (FakeWorker worker = new FakeWorker("w0", "m");
        RunningGateway gateway = new RunningGateway(List.of(worker))) {
      gateway.awaitReady(1);
      int port =
          gateway.bean(Environment.class).getRequiredProperty("local.server.port", Integer.class);
      try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
        CountDownLatch held = new CountDownLatch(1);
        worker.held = held;
        socket
            .getOutputStream()
            .write(
                "POST /v2/models/m/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"
                    .getBytes(StandardCharsets.US_ASCII));
        socket.shutdownOutput();
        RunningGateway.await("it has come", () -> worker.calls.contains("POST /v2/models/m/infer"));
        String interim = "HTTP/1.1 100 Continue\r\n\r\n";
        assertThat(
                new String(
                    socket.getInputStream().readNBytes(3 * interim.length()),
                    StandardCharsets.US_ASCII))
            .isEqualTo(interim.repeat(3));
        held.countDown();
        assertThat(new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
            .contains("HTTP/1.1 200");
      }
    }
  }

  @Test
  void shouldSayWhatPortIsForGrpc(CapturedOutput output) throws Exception {
    try (FakeWorker worker = new FakeWorker("w0", "m");
        RunningGateway gateway = new RunningGateway(List.of(worker))) {
      gateway.awaitReady(1);
      for (String begin : List.of("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "\u0016\u0003\u0001")) {
        assertThat(exchange(gateway.bean(GrpcServerLifecycle.class).getPort(), begin))
            .startsWith("HTTP/1.1 400")
            .contains("this is the gRPC port");
      }
      assertThat(gateway.management("/metrics")).contains("gateway_grpc_other_protocol_total 2.0");
      assertThat(output).doesNotContain("ERROR");
    }
  }

  @Test
  void shouldRefuseWebPagesAndWriteDownWhatChanges(CapturedOutput output) throws Exception {
    try (FakeWorker worker = new FakeWorker("w0", "m");
        RunningGateway gateway = new RunningGateway(List.of(worker))) {
      gateway.awaitReady(1);
      String infer =
          "POST /v2/models/m/infer HTTP/1.1\r\nConnection: close\r\nContent-Length: 2\r\n";
      assertThat(exchange(gateway, infer + "Host: a\r\nOrigin: http://evil.example\r\n\r\n{}"))
          .startsWith("HTTP/1.1 403");
      assertThat(exchange(gateway, infer + "Host: a\r\nContent-Type: text/plain\r\n\r\n{}"))
          .startsWith("HTTP/1.1 415");
      assertThat(
              exchange(
                  gateway, infer + "Host: localhost:1\r\nOrigin: http://localhost:1\r\n\r\n{}"))
          .startsWith("HTTP/1.1 200");
      exchange(
          gateway,
          "POST /v2/repository/models/m/load HTTP/1.1\r\nConnection: close\r\nContent-Length: 2\r\nHost: evil.example\r\n\r\n{}");
      Pattern told =
          Pattern.compile(
              "audit: 127.0.0.1:[0-9]+ POST /v2/repository/models/m/load: answered with 403");
      RunningGateway.await(told.pattern(), () -> told.matcher(output.toString()).find());
    }
  }

  @Test
  void shouldShowARenewedCertificateOverGrpc() throws Exception {
    TestKeys keys = new TestKeys("gateway.test", first);
    TestKeys renewed = new TestKeys("gateway.test", second);
    String bundle = "--spring.ssl.bundle.pem.public.";
    try (FakeWorker worker = new FakeWorker("w0", "m");
        RunningGateway gateway =
            new RunningGateway(
                List.of(worker),
                bundle + "keystore.certificate=" + keys.certificate(),
                bundle + "keystore.private-key=" + keys.key(),
                bundle + "reload-on-update=true",
                "--spring.ssl.bundle.watch.file.quiet-period=100ms",
                "--spring.grpc.server.ssl.bundle=public")) {
      Certificate shown = shown(gateway, keys);
      Files.move(renewed.key(), keys.key(), StandardCopyOption.REPLACE_EXISTING);
      Files.move(renewed.certificate(), keys.certificate(), StandardCopyOption.REPLACE_EXISTING);
      RunningGateway.await(
          "the new certificate is shown",
          () -> {
            try {
              return !shown(gateway, renewed).equals(shown);
            } catch (Exception old) {
              return false;
            }
          });
    }
  }

  @Test
  void shouldTrustWorkersByARenewedBundle() throws Exception {
    WorkerKeys old = new WorkerKeys(first);
    WorkerKeys renewed = new WorkerKeys(second);
    try (FakeWorker worker = new FakeWorker("w0", renewed, "m");
        RunningGateway gateway =
            new RunningGateway(
                List.of(worker),
                old.settings(
                    "--roundhouse.gateway.tls.server-name=worker.test",
                    "--spring.ssl.bundle.jks.workers.reload-on-update=true",
                    "--spring.ssl.bundle.watch.file.quiet-period=100ms"))) {
      Files.move(
          second.resolve("keys.p12"),
          first.resolve("keys.p12"),
          StandardCopyOption.REPLACE_EXISTING);
      gateway.awaitReady(1);
      assertThat(gateway.send("POST", "/v2/models/m/infer", "{}").body()).startsWith("w0 ");
    }
  }

  @Test
  void shouldSpeakToWorkersOverHttpByARenewedBundle() throws Exception {
    WorkerKeys old = new WorkerKeys(first);
    WorkerKeys renewed = new WorkerKeys(second);
    try (FakeWorker worker = new FakeWorker("w0", old, "m");
        RunningGateway gateway =
            new RunningGateway(
                List.of(worker),
                old.settings(
                    "--roundhouse.gateway.tls.server-name=worker.test",
                    "--spring.ssl.bundle.jks.workers.reload-on-update=true",
                    "--spring.ssl.bundle.watch.file.quiet-period=100ms"))) {
      gateway.awaitReady(1);
      assertThat(gateway.send("POST", "/v2/models/m/infer", "{}").body()).startsWith("w0 ");
      worker.renew(renewed);
      assertThat(gateway.send("POST", "/v2/models/m/infer", "{}").statusCode()).isEqualTo(503);
      Files.move(
          second.resolve("keys.p12"),
          first.resolve("keys.p12"),
          StandardCopyOption.REPLACE_EXISTING);
      RunningGateway.await(
          "requests over HTTP are answered by the renewed certificates",
          () -> {
            try {
              return gateway.send("POST", "/v2/models/m/infer", "{}").body().startsWith("w0 ");
            } catch (IOException | InterruptedException e) {
              throw new IllegalStateException(e);
            }
          });
    }
  }

  private static Certificate shown(RunningGateway gateway, TestKeys trusted) throws Exception {
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, trusted.trust().getTrustManagers(), null);
    try (SSLSocket client =
        (SSLSocket)
            context
                .getSocketFactory()
                .createSocket(
                    InetAddress.getLoopbackAddress(),
                    gateway.bean(GrpcServerLifecycle.class).getPort())) {
      client.setSoTimeout(60_000);
      SSLParameters parameters = client.getSSLParameters();
      parameters.setApplicationProtocols(new String[] {"h2"});
      client.setSSLParameters(parameters);
      client.startHandshake();
      return client.getSession().getPeerCertificates()[0];
    }
  }

  private static String exchange(RunningGateway gateway, String text) throws IOException {
    return exchange(gateway, "local.server.port", text);
  }

  private static String exchange(RunningGateway gateway, String port, String text)
      throws IOException {
    return exchange(gateway.bean(Environment.class).getRequiredProperty(port, Integer.class), text);
  }

  private static String exchange(int port, String text) throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.setSoTimeout(60_000);
      socket.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }
  }
}

package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.transport.io.TestKeys;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.cert.Certificate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** HTTP over TLS, by Boot's settings under {@code server.ssl}. */
@Timeout(120)
class RestTlsTest {
  private static final int WIDE = 1 << 20;
  private static final int HELLO = 16 << 20;
  private static final int RECORD = 16_384;

  @TempDir Path repository;
  @TempDir Path first;
  @TempDir Path second;

  @Test
  void shouldServeWhoShowsACertificate() throws Exception {
    TestKeys keys = new TestKeys("worker.test", first);
    try (RunningWorker worker = start(keys, "need")) {
      try (SSLSocket client = connect(worker, "http", keys, keys)) {
        send(client, "GET /v2/health/ready HTTP/1.1\r\nHost: a\r\n\r\n");
        assertThat(head(client)).startsWith("HTTP/1.1 200");
      }
      try (SSLSocket client = connect(worker, "http", keys, keys)) {
        send(
            client,
            "POST /v2/models/wide/infer HTTP/1.1\r\nHost: a\r\nInference-Header-Content-Length: 0\r\nContent-Length: "
                + 4 * WIDE
                + "\r\n\r\n");
        client.getOutputStream().write(new byte[4 * WIDE]);
        assertThat(head(client)).startsWith("HTTP/1.1 200");
        assertThat(client.getInputStream().readNBytes(4 * WIDE)).hasSize(4 * WIDE);
      }
      assertThatThrownBy(
              () -> {
                try (SSLSocket client = connect(worker, "http", keys, null)) {
                  send(client, "GET /v2/health/ready HTTP/1.1\r\nHost: a\r\n\r\n");
                  head(client);
                }
              })
          .isInstanceOfAny(SSLException.class, SocketException.class);
      try (Socket plain = new Socket(InetAddress.getLoopbackAddress(), worker.port("http"))) {
        send(plain, "GET /v2/health/ready HTTP/1.1\r\nHost: a\r\n\r\n");
        assertThat(new String(plain.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1))
            .doesNotContain("HTTP/1.1 200");
      }
    }
  }

  @Test
  void shouldAnswerAClientThatSendsNoMore() throws Exception {
    TestKeys keys = new TestKeys("worker.test", first);
    try (RunningWorker worker = start(keys, "none")) {
      for (String path : List.of("GET /v2/health/live", "POST /v2/repository/index")) {
        try (SSLSocket client = connect(worker, "http", keys, null)) {
          send(client, path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
          client.shutdownOutput();
          assertThat(new String(client.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
              .contains("HTTP/1.1 200");
        }
      }
    }
  }

  @Test
  void shouldShowARenewedCertificate() throws Exception {
    TestKeys keys = new TestKeys("worker.test", first);
    TestKeys renewed = new TestKeys("worker.test", second);
    try (RunningWorker worker = start(keys, "none")) {
      Certificate shown = shown(worker, "http", keys);
      Files.move(renewed.key(), keys.key(), StandardCopyOption.REPLACE_EXISTING);
      Files.move(renewed.certificate(), keys.certificate(), StandardCopyOption.REPLACE_EXISTING);
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
      while (true) {
        assertThat(System.nanoTime()).as("in time").isLessThan(end);
        try {
          assertThat(shown(worker, "http", renewed)).isNotEqualTo(shown);
          return;
        } catch (SSLException old) {
          TimeUnit.MILLISECONDS.sleep(50);
        }
      }
    }
  }

  @Test
  void shouldShowARenewedCertificateOverGrpcToo() throws Exception {
    TestKeys keys = new TestKeys("worker.test", first);
    TestKeys renewed = new TestKeys("worker.test", second);
    try (RunningWorker worker = start(keys, "none", "--spring.grpc.server.ssl.bundle=public")) {
      Certificate shown = shown(worker, "grpc", keys);
      Files.writeString(keys.certificate(), "nonsense"); // which leaves the one before
      Files.move(renewed.key(), keys.key(), StandardCopyOption.REPLACE_EXISTING);
      Files.move(renewed.certificate(), keys.certificate(), StandardCopyOption.REPLACE_EXISTING);
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
      while (true) {
        assertThat(System.nanoTime()).as("in time").isLessThan(end);
        try {
          assertThat(shown(worker, "grpc", renewed)).isNotEqualTo(shown);
          return;
        } catch (SSLException old) {
          TimeUnit.MILLISECONDS.sleep(50);
        }
      }
    }
  }

  @Test
  void shouldAgreeOnGoodCiphersOnlyAndNotWaitForHalfAHandshake() throws Exception {
    TestKeys keys = new TestKeys("worker.test", first);
    try (RunningWorker worker =
        start(keys, "none", "--roundhouse.worker.server.http.connection-timeout=1s")) {
      try (SSLSocket client = connect(worker, "http", keys, null)) {
        client.setEnabledProtocols(new String[] {"TLSv1.2"});
        client.startHandshake();
        assertThat(client.getSession().getCipherSuite())
            .startsWith("TLS_ECDHE_")
            .containsAnyOf("_GCM_", "_POLY1305_");
      }
      try (SSLSocket client = connect(worker, "http", keys, null)) {
        client.setEnabledProtocols(new String[] {"TLSv1.2"});
        client.setEnabledCipherSuites(
            Stream.of(client.getSupportedCipherSuites())
                .filter(suite -> suite.contains("_CBC_"))
                .toArray(String[]::new));
        assertThatThrownBy(client::startHandshake)
            .isInstanceOfAny(SSLException.class, SocketException.class);
      }
      List<Socket> half = new ArrayList<>();
      try {
        for (int i = 0; i < 300; i++) {
          Socket socket = new Socket(InetAddress.getLoopbackAddress(), worker.port("http"));
          half.add(socket);
          socket.setSoTimeout(60_000);
          socket.getOutputStream().write(new byte[] {22, 3, 1, 1, 0, 1}); // a hello's beginning
        }
        for (Socket socket : half) {
          assertThat(ends(socket)).isTrue();
        }
      } finally {
        for (Socket socket : half) {
          socket.close();
        }
      }
      assertThat(shown(worker, "http", keys)).isNotNull();
    }
  }

  /** As large as a name may be said to be, in records that each are as they should be. */
  @Test
  void shouldRefuseAHelloWithANameOfMegabytes() throws Exception {
    TestKeys keys = new TestKeys("worker.test", first);
    try (RunningWorker worker = start(keys, "none", "--spring.grpc.server.ssl.bundle=public")) {
      for (String port : new String[] {"http", "grpc"}) {
        for (int i = 0; i < 10; i++) {
          try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), worker.port(port))) {
            socket.setSoTimeout(60_000);
            long from = System.nanoTime();
            assertThat(sentOfAHello(socket)).isLessThan(HELLO);
            assertThat(ends(socket)).isTrue();
            assertThat(TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - from)).isLessThan(10);
          }
        }
        assertThat(shown(worker, port, keys)).isNotNull();
      }
      assertThat(held(worker)).isLessThan(4 << 20);
    }
  }

  /** Until the server has had enough. */
  private static int sentOfAHello(Socket socket) throws IOException {
    byte[] record = new byte[5 + RECORD];
    record[0] = 22; // handshake
    record[1] = 3;
    record[2] = 1;
    record[3] = RECORD >> 8;
    record[5] = 1; // a hello of 2^24 - 1 bytes
    record[6] = record[7] = record[8] = (byte) 0xff;
    int sent = 0;
    try {
      for (; sent < HELLO; sent += RECORD) {
        socket.getOutputStream().write(record);
        Arrays.fill(record, 5, record.length, (byte) 'a');
      }
    } catch (SocketException closed) {
      return sent;
    }
    return sent;
  }

  private static double held(RunningWorker worker) throws Exception {
    var held =
        Pattern.compile("\nroundhouse_peer_memory_held_bytes (\\S+)")
            .matcher(worker.get("metrics", "/metrics"));
    assertThat(held.find()).isTrue();
    return Double.parseDouble(held.group(1));
  }

  private static boolean ends(Socket socket) throws IOException {
    try {
      while (socket.getInputStream().read() >= 0) {
        // an alert, perhaps
      }
      return true;
    } catch (SocketException reset) {
      return true;
    }
  }

  private RunningWorker start(TestKeys keys, String clients, String... more) throws Exception {
    TestBundle.doubling(WIDE, 1).write(repository, "wide");
    List<String> settings =
        new ArrayList<>(
            List.of(
                "--spring.ssl.bundle.pem.public.keystore.certificate=" + keys.certificate(),
                "--spring.ssl.bundle.pem.public.keystore.private-key=" + keys.key(),
                "--spring.ssl.bundle.pem.public.truststore.certificate=" + keys.certificate(),
                "--spring.ssl.bundle.pem.public.reload-on-update=true",
                "--spring.ssl.bundle.watch.file.quiet-period=100ms",
                "--server.ssl.bundle=public",
                "--server.ssl.client-auth=" + clients,
                "--management.server.ssl.enabled=false"));
    settings.addAll(List.of(more));
    return new RunningWorker(repository, TestBundle.DOUBLE, settings.toArray(String[]::new))
        .awaitLoaded();
  }

  private static Certificate shown(RunningWorker worker, String port, TestKeys trusted)
      throws Exception {
    try (SSLSocket client = connect(worker, port, trusted, null)) {
      SSLParameters parameters = client.getSSLParameters();
      parameters.setApplicationProtocols(new String[] {port.equals("grpc") ? "h2" : "http/1.1"});
      client.setSSLParameters(parameters);
      client.startHandshake();
      return client.getSession().getPeerCertificates()[0];
    }
  }

  private static SSLSocket connect(
      RunningWorker worker, String port, TestKeys trusted, @Nullable TestKeys identity)
      throws Exception {
    SSLContext context = SSLContext.getInstance("TLS");
    KeyManager[] shows = identity == null ? null : identity.identity().getKeyManagers();
    TrustManager[] trusts = trusted.trust().getTrustManagers();
    context.init(shows, trusts, null);
    SSLSocket socket =
        (SSLSocket)
            context
                .getSocketFactory()
                .createSocket(InetAddress.getLoopbackAddress(), worker.port(port));
    socket.setSoTimeout(60_000);
    return socket;
  }

  private static void send(Socket socket, String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
  }

  private static String head(Socket socket) throws IOException {
    StringBuilder head = new StringBuilder();
    while (head.indexOf("\r\n\r\n") < 0) {
      int next = socket.getInputStream().read();
      if (next < 0) {
        throw new SocketException("the connection ended after '" + head + "'");
      }
      head.append((char) next);
    }
    return head.toString();
  }
}

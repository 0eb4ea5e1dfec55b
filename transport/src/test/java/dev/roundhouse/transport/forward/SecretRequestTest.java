package dev.roundhouse.transport.forward;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.transport.http1.Peer;
import dev.roundhouse.transport.io.TestKeys;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import java.net.InetAddress;
import java.nio.file.Path;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests over HTTP that are sent on by TLS. */
@Timeout(120)
class SecretRequestTest extends SentOnHttp {
  @TempDir static Path folder;
  private static TestKeys keys;
  private static SslContext context;

  @BeforeAll
  static void makeKeys() throws Exception {
    keys = new TestKeys("worker.test", folder);
    context =
        SslContextBuilder.forClient()
            .sslProvider(SslProvider.JDK)
            .keyManager(keys.identity())
            .trustManager(keys.trust())
            .endpointIdentificationAlgorithm("HTTPS")
            .build();
  }

  @BeforeEach
  void serve() throws Exception {
    SSLContext secret = SSLContext.getInstance("TLS");
    secret.init(keys.identity().getKeyManagers(), keys.trust().getTrustManagers(), null);
    SSLServerSocket listening =
        (SSLServerSocket)
            secret
                .getServerSocketFactory()
                .createServerSocket(0, 50, InetAddress.getLoopbackAddress());
    listening.setNeedClientAuth(true);
    servers.add(new Behind("a", listening));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3_000_000})
  void shouldCheckTheNameAndShowACertificate(int bytes) throws Exception {
    startFront(new UpstreamTls(context, "worker.test"));
    String body = "x".repeat(bytes);
    try (Peer peer = peer()) {
      for (int i = 0; i < 3; i++) {
        assertThat(peer.send(Peer.post("/m", body)).answer()).isEqualTo("200 " + body);
      }
    }
    assertThat(servers.getFirst().connections).hasValue(1);
  }

  @Test
  void shouldNotSendToAServerOfAnotherName() throws Exception {
    startFront(new UpstreamTls(context, ""));
    try (Peer peer = peer()) {
      assertThat(peer.send(Peer.post("/m", "x")).answer())
          .startsWith("503 worker 'a' cannot be reached: TLS: ")
          .contains("localhost");
    }
    assertThat(servers.getFirst().asked).isEmpty();
    assertTold("shown 1", "a other UNAVAILABLE unreached", "a ended UNAVAILABLE unreached");
  }

  @Test
  void shouldSayThatAServerSpeaksNoTls() throws Exception {
    startFront(new UpstreamTls(context, "worker.test"));
    servers.getFirst().close();
    Behind plain = new Behind("plain");
    servers.set(0, plain);
    plain.onConnection =
        socket -> socket.getOutputStream().write("HTTP/1.1 400 X\r\n\r\n".getBytes(US_ASCII));
    try (Peer peer = peer()) {
      assertThat(peer.send(Peer.post("/m", "x")).answer())
          .isEqualTo("503 worker 'plain' cannot be reached: it does not speak TLS");
    }
  }
}

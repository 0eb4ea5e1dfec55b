package dev.roundhouse.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.client.retry.RetryPolicy;
import dev.roundhouse.transport.io.TestKeys;
import io.grpc.ServerCredentials;
import io.grpc.TlsServerCredentials;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class TlsTest {
  @TempDir static Path folder;
  private static Path certificate;
  private static Path key;

  @BeforeAll
  static void makeCertificate() throws Exception {
    TestKeys made = new TestKeys("localhost", folder);
    certificate = made.certificate();
    key = made.key();
  }

  private static ServerCredentials server(TlsServerCredentials.ClientAuth clients)
      throws IOException {
    return TlsServerCredentials.newBuilder()
        .keyManager(certificate.toFile(), key.toFile())
        .trustManager(certificate.toFile())
        .clientAuth(clients)
        .build();
  }

  @Test
  void shouldCallOverTlsWithAToken() throws Exception {
    AtomicInteger asked = new AtomicInteger();
    try (FakeServer server = new FakeServer(server(TlsServerCredentials.ClientAuth.NONE));
        KServeClient client =
            KServeClient.to("127.0.0.1:" + server.port())
                .authority("localhost")
                .trust(certificate)
                .token(() -> "t" + asked.incrementAndGet())
                .build()) {
      for (int call = 1; call <= 2; call++) {
        assertThat(client.infer(InferTest.doubling(1).build()).output("y").floats())
            .containsExactly(2);
        assertThat(server.arrival().authorization()).isEqualTo("Bearer t" + call);
      }
    }
  }

  @Test
  void shouldShowWhoItIsWhenTheServerWantsToKnow() throws Exception {
    try (FakeServer server = new FakeServer(server(TlsServerCredentials.ClientAuth.REQUIRE));
        KServeClient known = client(server).identity(certificate, key).build();
        KServeClient unknown = client(server).build()) {
      assertThat(known.infer(InferTest.doubling(1).build()).output("y").floats())
          .containsExactly(2);
      assertThatThrownBy(() -> unknown.infer(InferTest.doubling(1).build()))
          .isInstanceOf(KServeException.class)
          .hasMessageContaining("UNAVAILABLE");
    }
  }

  private static KServeClientBuilder client(FakeServer server) {
    return KServeClient.to("127.0.0.1:" + server.port())
        .authority("localhost")
        .retry(RetryPolicy.NONE)
        .trust(certificate);
  }

  @Test
  void shouldNotTrustAServerThatNobodyVouchesFor() throws Exception {
    try (FakeServer server = new FakeServer(server(TlsServerCredentials.ClientAuth.NONE));
        KServeClient client =
            KServeClient.to("127.0.0.1:" + server.port())
                .authority("localhost")
                .retry(RetryPolicy.NONE)
                .tls()
                .build()) {
      assertThatThrownBy(() -> client.infer(InferTest.doubling(1).build()))
          .isInstanceOf(KServeException.class)
          .hasMessageContaining("UNAVAILABLE");
      assertThat(server.arrivals).isEmpty();
    }
  }

  @Test
  void shouldSendNoTokenInTheClearUnlessToldTo() throws Exception {
    assertThatThrownBy(() -> KServeClient.to("localhost:1").token(() -> "t").build())
        .hasMessageContaining("without TLS");
    try (FakeServer server = new FakeServer();
        KServeClient client =
            KServeClient.to(server.address()).token(() -> "t").tokenInTheClear().build()) {
      client.infer(InferTest.doubling(1).build());
      assertThat(server.arrival().authorization()).isEqualTo("Bearer t");
    }
  }

  @Test
  void shouldNotCallWithoutTheTokenThatItShouldShow() throws Exception {
    for (String token : new String[] {"", "a\nb", "ü"}) {
      try (FakeServer server = new FakeServer();
          KServeClient client =
              KServeClient.to(server.address()).token(() -> token).tokenInTheClear().build()) {
        assertThatThrownBy(() -> client.infer(InferTest.doubling(1).build()))
            .hasMessageContaining("UNAUTHENTICATED: the token provider gave a token");
        assertThat(server.arrivals).isEmpty();
      }
    }
  }

  @Test
  void shouldRefuseSettingsThatMakeNoSense() {
    assertThatThrownBy(() -> KServeClient.to()).hasMessageContaining("host:port");
    assertThatThrownBy(() -> KServeClient.to("http://x:1"))
        .hasMessage("server 'http://x:1' is not host:port, such as localhost:8001");
    assertThatThrownBy(() -> KServeClient.to("x:1").maxAnswerBytes(0))
        .hasMessage("maxAnswerBytes is 0; it must be 1 or more");
    assertThatThrownBy(() -> KServeClient.to("x:1").trust(folder.resolve("nothing")).build())
        .hasMessageContaining("nothing");
  }
}

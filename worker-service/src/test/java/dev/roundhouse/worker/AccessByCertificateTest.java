package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.control.proto.ControlServiceGrpc;
import dev.roundhouse.kserve.control.proto.SetModelPolicyRequest;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.ServerLiveRequest;
import dev.roundhouse.transport.io.TestKeys;
import io.grpc.Grpc;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Callers that are known by their certificates, on all three ports. */
@Timeout(180)
class AccessByCertificateTest {
  private static final String INFER =
      "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,2],\"data\":[1,2]}]}";

  @TempDir static Path folder;

  private static TestKeys server;
  private static TestKeys operator;
  private static TestKeys visitor;
  private static TestKeys stranger;
  private static RunningWorker worker;

  @BeforeAll
  static void start() throws Exception {
    server = new TestKeys("localhost", made("server"));
    operator =
        new TestKeys("operator", "URI:spiffe://example.org/ns/ops/sa/anna", made("operator"));
    visitor = new TestKeys("visitor.test", made("visitor"));
    stranger = new TestKeys("stranger.test", made("stranger"));
    Path trusted =
        Files.writeString(
            folder.resolve("trusted.pem"),
            Files.readString(operator.certificate()) + Files.readString(visitor.certificate()));
    Path repository = made("models");
    TestBundle.doubling(2, 1).write(repository, "m");
    String bundle = "--spring.ssl.bundle.pem.public.";
    String of = "--roundhouse.worker.access.";
    worker =
        new RunningWorker(
                repository,
                TestBundle.DOUBLE,
                bundle + "keystore.certificate=file:" + server.certificate(),
                bundle + "keystore.private-key=file:" + server.key(),
                bundle + "truststore.certificate=file:" + trusted,
                "--spring.grpc.server.ssl.bundle=public",
                "--spring.grpc.server.ssl.client-auth=optional",
                "--server.ssl.bundle=public",
                "--server.ssl.client-auth=want",
                "--management.server.ssl.bundle=public",
                "--management.server.ssl.client-auth=want",
                of + "inference=mtls",
                of + "control=mtls",
                of + "identities.ops.certificates=uri:spiffe://example.org/ns/ops/*",
                of + "identities.ops.may=inference,control",
                of + "identities.guest.certificates=dns:visitor.test",
                of + "identities.guest.may=inference")
            .awaitLoaded();
  }

  private static Path made(String name) throws Exception {
    return Files.createDirectory(folder.resolve(name));
  }

  @AfterAll
  static void stop() {
    worker.close();
  }

  private static ManagedChannel channel(@Nullable TestKeys keys) throws Exception {
    TlsChannelCredentials.Builder credentials =
        TlsChannelCredentials.newBuilder().trustManager(server.certificate().toFile());
    if (keys != null) {
      credentials.keyManager(keys.certificate().toFile(), keys.key().toFile());
    }
    return Grpc.newChannelBuilder("localhost:" + worker.port("grpc"), credentials.build()).build();
  }

  private static Status end(@Nullable TestKeys keys, SetModelPolicyRequest request)
      throws Exception {
    ManagedChannel channel = channel(keys);
    try {
      var unused = ControlServiceGrpc.newBlockingStub(channel).setModelPolicy(request);
      return Status.OK;
    } catch (StatusRuntimeException e) {
      return e.getStatus();
    } finally {
      channel.shutdownNow();
    }
  }

  private static String post(String port, String path, String json, @Nullable TestKeys keys)
      throws Exception {
    SSLContext tls = SSLContext.getInstance("TLS");
    KeyManager @Nullable [] shown = keys == null ? null : keys.identity().getKeyManagers();
    tls.init(shown, server.trust().getTrustManagers(), new SecureRandom());
    try (HttpClient client = HttpClient.newBuilder().sslContext(tls).build()) {
      var answer =
          client.send(
              HttpRequest.newBuilder(URI.create("https://localhost:" + worker.port(port) + path))
                  .header("Content-Type", "application/json")
                  .POST(BodyPublishers.ofString(json))
                  .build(),
              BodyHandlers.ofString());
      return answer.statusCode() + " " + answer.body();
    }
  }

  @Test
  void shouldKnowCallersOverGrpcByTheirCertificates() throws Exception {
    SetModelPolicyRequest policy =
        SetModelPolicyRequest.newBuilder().setName("m").setHasWeight(true).setWeight(2).build();
    assertThat(end(operator, policy).getCode()).isEqualTo(Status.Code.OK);
    Status guest = end(visitor, policy);
    assertThat(guest.getCode()).isEqualTo(Status.Code.PERMISSION_DENIED);
    assertThat(guest.getDescription()).contains("'guest' may not use", "add 'control' to");
    Status nobody = end(null, policy);
    assertThat(nobody.getCode()).isEqualTo(Status.Code.UNAUTHENTICATED);
    assertThat(nobody.getDescription()).contains("needs a client certificate of an identity");
    assertThat(end(stranger, policy).getCode())
        .as("a certificate that nobody has signed whom the server trusts")
        .isIn(Status.Code.UNAVAILABLE, Status.Code.UNAUTHENTICATED);
    ManagedChannel channel = channel(null);
    try {
      assertThat(
              GRPCInferenceServiceGrpc.newBlockingStub(channel)
                  .serverLive(ServerLiveRequest.getDefaultInstance())
                  .getLive())
          .isTrue();
    } finally {
      channel.shutdownNow();
    }
    StatusRuntimeException plain =
        catchThrowableOfType(
            StatusRuntimeException.class,
            () -> worker.stub().serverLive(ServerLiveRequest.getDefaultInstance()));
    assertThat(plain.getStatus().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
  }

  @Test
  void shouldKnowCallersOverHttpByTheirCertificates() throws Exception {
    String infer = "/v2/models/m/infer";
    assertThat(post("http", infer, INFER, visitor)).startsWith("200 ");
    assertThat(post("http", infer, INFER, operator)).startsWith("200 ");
    assertThat(post("http", infer, INFER, null))
        .startsWith("401 ")
        .contains("inference needs a client certificate of an identity that may use 'inference'");
  }

  @Test
  void shouldKnowOperatorsByTheirCertificates() throws Exception {
    String path = "/actuator/models/m";
    assertThat(post("metrics", path, "{\"weight\": 3}", operator)).startsWith("200 ");
    assertThat(post("metrics", path, "{\"weight\": 3}", visitor))
        .startsWith("403 ")
        .contains("'guest' may not use POST /actuator/models/m");
    assertThat(post("metrics", path, "{\"weight\": 3}", null)).startsWith("401 ");
  }

  @Test
  void shouldSayWhenCertificatesEnd() throws Exception {
    String metrics = get("/metrics");
    Matcher left =
        Pattern.compile("ssl_chain_expiry_seconds\\{bundle=\"public\"[^}]*} (\\S+)")
            .matcher(metrics);
    assertThat(left.find()).as(metrics).isTrue();
    assertThat(Double.parseDouble(left.group(1)))
        .as("keytool's 90 days")
        .isBetween(Duration.ofDays(88).toSeconds() * 1.0, Duration.ofDays(91).toSeconds() * 1.0);
    assertThat(get("/actuator/health"))
        .containsPattern("\"ssl\":\\{.*\"subject\":\"CN=localhost\".*\"validityEnds\":\"20");
  }

  private static String get(String path) throws Exception {
    SSLContext tls = SSLContext.getInstance("TLS");
    tls.init(null, server.trust().getTrustManagers(), new SecureRandom());
    try (HttpClient client = HttpClient.newBuilder().sslContext(tls).build()) {
      return client
          .send(
              HttpRequest.newBuilder(
                      URI.create("https://localhost:" + worker.port("metrics") + path))
                  .build(),
              BodyHandlers.ofString())
          .body();
    }
  }
}

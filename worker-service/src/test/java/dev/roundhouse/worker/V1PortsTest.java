package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.ServerLiveRequest;
import dev.roundhouse.kserve.v1.proto.GRPCServiceGrpc;
import dev.roundhouse.kserve.v1.proto.GRPCServiceGrpc.GRPCServiceBlockingStub;
import dev.roundhouse.kserve.v1.proto.HealthRequest;
import dev.roundhouse.kserve.v1.proto.InferRequest;
import dev.roundhouse.transport.io.TestKeys;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.Objects;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The v1 protocol at ports of its own. */
@Timeout(120)
class V1PortsTest {
  private static final String ON = "--roundhouse.worker.v1.enabled=true";
  private static final String GRPC = "--roundhouse.worker.v1.grpc-port=0";
  private static final String HTTP = "--roundhouse.worker.v1.http-port=0";
  private static final String HEADER =
      "batch_size: 1 input { name: \"x\" dims: 2 batch_byte_size: 8 } output { name: \"y\" }";

  @TempDir Path repository;
  private @Nullable RunningWorker worker;
  private @Nullable ManagedChannel channel;

  @BeforeEach
  void write() {
    TestBundle.doubling(2, 1).write(repository, "double");
  }

  @AfterEach
  void stop() {
    if (channel != null) {
      channel.shutdownNow();
    }
    if (worker != null) {
      worker.close();
    }
  }

  private RunningWorker worker() {
    return Objects.requireNonNull(worker);
  }

  private void start(String... settings) throws Exception {
    worker = new RunningWorker(repository, TestBundle.DOUBLE, settings).awaitLoaded();
  }

  private GRPCServiceBlockingStub stub() {
    ManagedChannel plain =
        Grpc.newChannelBuilder(
                "127.0.0.1:" + worker().port("v1-grpc"), InsecureChannelCredentials.create())
            .build();
    channel = plain;
    return GRPCServiceGrpc.newBlockingStub(plain);
  }

  private static InferRequest request() {
    return V1Test.request("double", HEADER, WorkerTest.floats(1, 2));
  }

  private HttpRequest.Builder infer(String scheme, String port) {
    return HttpRequest.newBuilder(
            URI.create(scheme + "://localhost:" + worker().port(port) + "/api/infer/double"))
        .header("NV-InferRequest", HEADER)
        .POST(BodyPublishers.ofByteArray(StreamPeer.floats(1, 2)));
  }

  private static Status.Code code(Runnable call) {
    StatusRuntimeException end = catchThrowableOfType(StatusRuntimeException.class, call::run);
    return end == null ? Status.Code.OK : end.getStatus().getCode();
  }

  @Test
  void shouldServeItThereAndNowhereElse() throws Exception {
    start(ON, GRPC, HTTP);
    GRPCServiceBlockingStub v1 = stub();

    assertThat(v1.infer(request()).getRawOutputList()).containsExactly(WorkerTest.floats(2, 4));
    HttpResponse<byte[]> answer = worker().send(infer("http", "v1-http"));
    assertThat(answer.statusCode()).isEqualTo(200);
    assertThat(answer.body()).startsWith(StreamPeer.floats(2, 4));
    assertThat(worker().get("v1-http", "/api/health/ready")).startsWith("200 ");
    assertThat(worker().get("v1-http", "/api/status/double")).startsWith("200 ");
    assertThat(worker().get("metrics", "/actuator/info"))
        .contains("\"v1-grpc\":" + worker().port("v1-grpc"))
        .contains("\"v1-http\":" + worker().port("v1-http"));

    HealthRequest live = HealthRequest.newBuilder().setMode("live").build();
    assertThat(code(() -> GRPCServiceGrpc.newBlockingStub(worker().channel()).health(live)))
        .isEqualTo(Status.Code.UNIMPLEMENTED);
    assertThat(worker().send(infer("http", "http")).statusCode()).isEqualTo(404);
    assertThat(worker().get("http", "/api/health/ready")).startsWith("404 ");

    var v2 = GRPCInferenceServiceGrpc.newBlockingStub(v1.getChannel());
    assertThat(code(() -> v2.serverLive(ServerLiveRequest.getDefaultInstance())))
        .isEqualTo(Status.Code.UNIMPLEMENTED);
    assertThat(worker().get("v1-http", "/v2/health/live")).startsWith("404 ");
    assertThat(worker().get("v1-http", "/v2/models/double")).startsWith("404 ");
    assertThat(worker().get("http", "/v2/health/live")).startsWith("200 ");
    worker().assertHoldsNothing();
  }

  @Test
  void shouldCountConnectionsToEachPortForThemselves() throws Exception {
    start(ON, GRPC, HTTP, "--roundhouse.worker.server.max-connections=1");

    assertThat(stub().infer(request()).getRawOutputCount()).isOne();
    assertThat(worker().stub().serverLive(ServerLiveRequest.getDefaultInstance()).getLive())
        .isTrue();
    assertThat(worker().send(infer("http", "v1-http")).statusCode()).isEqualTo(200);

    assertThat(worker().get("metrics", "/metrics"))
        .contains("roundhouse_v1_connections_open{transport=\"v1-grpc\"} 1.0")
        .contains("roundhouse_v1_connections_limit{transport=\"v1-grpc\"} 1.0")
        .contains("roundhouse_grpc_connections_open 1.0")
        .contains("roundhouse_grpc_connections_limit 1.0")
        .contains("roundhouse_v1_connections_open{transport=\"v1-http\"} 1.0")
        .contains("roundhouse_http_connections_open 0.0");
  }

  @Test
  void shouldServeItByOneProtocolAlone() throws Exception {
    start(ON, GRPC);

    assertThat(stub().infer(request()).getRawOutputList()).containsExactly(WorkerTest.floats(2, 4));
    assertThat(worker().get("http", "/api/health/ready")).startsWith("404 ");
    assertThat(worker().get("metrics", "/actuator/info")).doesNotContain("v1-http");
  }

  @Test
  void shouldHoldClientsAgainstTheSameRulesThere(@TempDir Path folder) throws Exception {
    byte[] hash =
        MessageDigest.getInstance("SHA-256").digest("team".getBytes(StandardCharsets.UTF_8));
    Path tokens = folder.resolve("tokens");
    Files.writeString(tokens, "sha256:" + HexFormat.of().formatHex(hash) + "\n");
    String of = "--roundhouse.worker.access.";
    start(ON, GRPC, HTTP, of + "inference=token", of + "identities.team.token-files=" + tokens);

    assertThat(code(() -> stub().infer(request()))).isEqualTo(Status.Code.UNAUTHENTICATED);
    assertThat(worker().send(infer("http", "v1-http")).statusCode()).isEqualTo(401);
    assertThat(
            worker()
                .send(infer("http", "v1-http").header("Authorization", "Bearer team"))
                .statusCode())
        .isEqualTo(200);
  }

  @Test
  void shouldHaveTheTlsOfTheOtherPorts(@TempDir Path folder) throws Exception {
    TestKeys keys = new TestKeys("localhost", folder);
    start(
        ON,
        GRPC,
        HTTP,
        "--spring.ssl.bundle.pem.public.keystore.certificate=" + keys.certificate(),
        "--spring.ssl.bundle.pem.public.keystore.private-key=" + keys.key(),
        "--spring.grpc.server.ssl.bundle=public",
        "--server.ssl.bundle=public",
        "--management.server.ssl.enabled=false");
    ManagedChannel secured =
        Grpc.newChannelBuilder(
                "localhost:" + worker().port("v1-grpc"),
                TlsChannelCredentials.newBuilder()
                    .trustManager(keys.certificate().toFile())
                    .build())
            .build();
    assertThat(GRPCServiceGrpc.newBlockingStub(secured).infer(request()).getRawOutputList())
        .containsExactly(WorkerTest.floats(2, 4));
    secured.shutdownNow();
    assertThat(code(() -> stub().infer(request()))).isEqualTo(Status.Code.UNAVAILABLE);

    SSLContext trusting = SSLContext.getInstance("TLS");
    trusting.init(null, keys.trust().getTrustManagers(), null);
    try (HttpClient client = HttpClient.newBuilder().sslContext(trusting).build()) {
      assertThat(
              client
                  .send(infer("https", "v1-http").build(), BodyHandlers.discarding())
                  .statusCode())
          .isEqualTo(200);
    }
  }

  @Test
  void shouldStopWithTheOthers() throws Exception {
    start(ON, GRPC, HTTP);
    GRPCServiceBlockingStub v1 = stub();
    assertThat(v1.infer(request()).getRawOutputCount()).isOne();
    URI there = URI.create("http://127.0.0.1:" + worker().port("v1-http") + "/api/health/live");

    worker().stop();

    assertThat(code(() -> v1.infer(request()))).isEqualTo(Status.Code.UNAVAILABLE);
    try (HttpClient client = HttpClient.newHttpClient()) {
      assertThatThrownBy(
              () -> client.send(HttpRequest.newBuilder(there).build(), BodyHandlers.discarding()))
          .isInstanceOf(ConnectException.class);
    }
  }

  @Test
  void shouldRefusePortsOfWhatIsOffOrTaken() throws Exception {
    assertThatThrownBy(() -> start(GRPC))
        .hasStackTraceContaining(
            "roundhouse.worker.v1 has a port of its own, and roundhouse.worker.v1.enabled is not true");
    worker = null;
    start();
    String taken = "--roundhouse.worker.v1.grpc-port=" + worker().port("grpc");
    assertThatThrownBy(() -> new RunningWorker(repository, TestBundle.DOUBLE, ON, taken).close())
        .hasStackTraceContaining(
            "The transport 'v1-grpc' cannot be started: roundhouse.worker.v1.grpc-port="
                + worker().port("grpc"));
    String http = "--roundhouse.worker.v1.http-port=" + worker().port("http");
    assertThatThrownBy(() -> new RunningWorker(repository, TestBundle.DOUBLE, ON, http).close())
        .hasStackTraceContaining("Port " + worker().port("http") + " is already in use");
  }
}

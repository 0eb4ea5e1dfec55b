package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.ModelMetadataRequest;
import dev.roundhouse.kserve.proto.ModelReadyRequest;
import dev.roundhouse.kserve.proto.ServerLiveRequest;
import dev.roundhouse.kserve.proto.ServerReadyRequest;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.worker.lifecycle.EngineLifecycle;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(120)
class StartTest {
  @TempDir Path repository;
  private final Gate gate = new Gate();

  @Test
  void shouldOpenPortsAtOnceAndBeReadyOnlyWhenModelsAre() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "double");
    gate.shut(); // a model warms up before it is ready
    try (RunningWorker worker = new RunningWorker(repository, gate)) {
      gate.awaitArrival();
      var stub = worker.stub();
      var modelReady = ModelReadyRequest.newBuilder().setName("double").build();

      assertThat(stub.serverLive(ServerLiveRequest.getDefaultInstance()).getLive()).isTrue();
      assertThat(stub.serverReady(ServerReadyRequest.getDefaultInstance()).getReady()).isFalse();
      assertThat(stub.modelReady(modelReady).getReady()).isFalse();
      assertThat(health(worker)).isEqualTo(ServingStatus.NOT_SERVING);
      assertThat(worker.get("http", "/v2/health/live")).isEqualTo("200 {\"live\":true}");
      assertThat(worker.get("http", "/v2/health/ready")).isEqualTo("503 {\"ready\":false}");
      assertThat(worker.get("http", "/v2/models/double/ready")).startsWith("503 ");
      assertThat(worker.get("metrics", "/actuator/health/readiness"))
          .startsWith("503 ")
          .contains("\"loading\":1");
      assertRefused(() -> stub.modelInfer(WorkerTest.request("double", 1, 1, 2)));
      var metadata = ModelMetadataRequest.newBuilder().setName("double").build();
      assertRefused(() -> stub.modelMetadata(metadata));

      gate.open();
      worker.bean(EngineLifecycle.class).loaded().get(60, TimeUnit.SECONDS);

      assertThat(stub.serverReady(ServerReadyRequest.getDefaultInstance()).getReady()).isTrue();
      assertThat(stub.modelReady(modelReady).getReady()).isTrue();
      assertThat(health(worker)).isEqualTo(ServingStatus.SERVING);
      assertThat(worker.get("http", "/v2/health/ready")).isEqualTo("200 {\"ready\":true}");
    } finally {
      gate.open();
    }
  }

  @Test
  void shouldKnowWhatRunsCostAfterARestart(@TempDir Path cache) throws Exception {
    TestBundle.doubling(2, 1).write(repository, "double");
    Path file = cache.resolve("costs.json");
    String setting = RunningWorker.COST_FILE + file;
    try (RunningWorker worker = new RunningWorker(repository, gate, setting)) {
      worker.awaitLoaded().stub().modelInfer(WorkerTest.request("double", 1, 1, 2));
    }

    assertThat(file).content().contains("\"double/0/1\"").contains("\"meanNanos\"");
    String slow = Files.readString(file).replaceAll("(Nanos\" : )[0-9.E]+", "$1 5000000000");
    Files.writeString(file, "{" + slow.substring(slow.indexOf("\"devices\""))); // without a digest
    try (RunningWorker worker = new RunningWorker(repository, gate, setting)) {
      worker.awaitLoaded();
      assertThat(worker.get("metrics", "/actuator/models/double"))
          .containsPattern("\"meanMicros\":[1-9]\\d{6}\\."); // the warm-up runs count for the rest
    }
  }

  @Test
  void shouldNameTheKeyWhenADirectoryIsMissing() {
    Path missing = repository.resolve("missing");
    assertThatThrownBy(() -> new RunningWorker(missing, gate).close())
        .hasStackTraceContaining(
            "roundhouse.worker.repository.directories[0] is '" + missing + "'");
  }

  @ParameterizedTest
  @CsvSource({
    "server.http2.enabled=true, Remove it",
    "server.tomcat.accesslog.enabled=true, Remove it",
    "server.server-header=roundhouse, Remove it",
    "server.servlet.context-path=/a, Remove it",
    "server.compression.enabled=true, Remove it",
    "server.ssl.server-name-bundles[0].server-name=a, Remove it",
    "server.tomcat.max-connections=1, Set roundhouse.worker.server.http.max-connections instead",
    "server.tomcat.accept-count=1, Set roundhouse.worker.server.http.accept-count instead",
    "server.tomcat.connection-timeout=1s, Set roundhouse.worker.server.http.connection-timeout instead",
  })
  void shouldRefuseWhatTheHttpServerDoesNotHave(String setting, String instead) throws Exception {
    TestBundle.doubling(2, 1).write(repository, "double");
    String key = setting.substring(0, setting.indexOf('='));
    assertThatThrownBy(() -> new RunningWorker(repository, gate, "--" + setting).close())
        .hasStackTraceContaining("'" + key + "' is set")
        .satisfies(
            failure ->
                assertThat(((StartRefusedException) root(failure)).action()).startsWith(instead));
  }

  private static Throwable root(Throwable failure) {
    return failure.getCause() == null ? failure : root(failure.getCause());
  }

  @Test
  void shouldNameThePortThatAnotherHas() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "double");
    try (ServerSocket other = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      String port = "--server.port=" + other.getLocalPort();
      assertThatThrownBy(() -> new RunningWorker(repository, gate, port).close())
          .hasRootCauseInstanceOf(IOException.class)
          .hasStackTraceContaining("Port " + other.getLocalPort() + " is already in use");
    }
  }

  private static void assertRefused(ThrowingCallable call) {
    StatusRuntimeException refusal = catchThrowableOfType(StatusRuntimeException.class, call);

    assertThat(refusal.getStatus().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
    assertThat(refusal.getStatus().getDescription()).contains("is not at ready state");
  }

  private static ServingStatus health(RunningWorker worker) {
    return HealthGrpc.newBlockingStub(worker.channel())
        .check(HealthCheckRequest.getDefaultInstance())
        .getStatus();
  }
}

package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.ServerLiveRequest;
import dev.roundhouse.kserve.proto.ServerReadyRequest;
import dev.roundhouse.platform.lifecycle.LameDuck;
import dev.roundhouse.worker.lifecycle.Readiness;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** A worker that was told to stop serves on for a while, and says that it is not ready. */
@Timeout(120)
@ExtendWith(OutputCaptureExtension.class)
class LameDuckTest {
  @TempDir Path repository;

  @Test
  void shouldServeOnAndNotBeReadyUntilTheTimeIsOver(CapturedOutput output) throws Exception {
    TestBundle.doubling(2, 1).write(repository, "double");
    try (RunningWorker worker =
        new RunningWorker(repository, TestBundle.DOUBLE, "--roundhouse.worker.server.lame-duck=5m")
            .awaitLoaded()) {
      LameDuck lameDuck = worker.bean(LameDuck.class);
      Readiness readiness = worker.bean(Readiness.class);
      assertThat(worker.get("http", "/v2/health/ready")).startsWith("200 ");
      assertThat(health(worker)).isEqualTo(ServingStatus.SERVING);

      Thread stopping = Thread.ofPlatform().name("stop").start(worker::stop);
      while (!readiness.isStopping() || readiness.isReady()) {
        Thread.onSpinWait();
      }
      while (health(worker) != ServingStatus.NOT_SERVING) {
        Thread.onSpinWait(); // told by an event
      }

      assertThat(worker.stub().serverReady(ServerReadyRequest.getDefaultInstance()).getReady())
          .isFalse();
      assertThat(worker.stub().serverLive(ServerLiveRequest.getDefaultInstance()).getLive())
          .isTrue();
      assertThat(worker.get("http", "/v2/health/ready")).startsWith("503 ");
      assertThat(worker.get("http", "/v2/health/live")).startsWith("200 ");
      assertThat(worker.get("metrics", "/actuator/health/readiness")).startsWith("503 ");
      assertThat(worker.get("metrics", "/actuator/health/liveness")).startsWith("200 ");
      assertServes(worker);
      assertThat(output).contains("not ready from now on; calls are served for 300.0 s more");
      assertThat(stopping.isAlive()).isTrue();

      lameDuck.end();
      stopping.join();
      StatusRuntimeException refusal =
          catchThrowableOfType(
              StatusRuntimeException.class,
              () -> worker.stub().modelInfer(WorkerTest.request("double", 1, 1, 2)));
      assertThat(refusal.getStatus().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
    }
  }

  /** By connections that there are and by new ones. */
  private static void assertServes(RunningWorker worker) throws Exception {
    assertThat(
            worker.stub().modelInfer(WorkerTest.request("double", 1, 1, 2)).getRawOutputContents(0))
        .isEqualTo(WorkerTest.floats(2, 4));
    ManagedChannel late =
        Grpc.newChannelBuilder(
                "127.0.0.1:" + worker.port("grpc"), InsecureChannelCredentials.create())
            .build();
    try {
      assertThat(
              GRPCInferenceServiceGrpc.newBlockingStub(late)
                  .modelInfer(WorkerTest.request("double", 1, 3, 4))
                  .getRawOutputContents(0))
          .isEqualTo(WorkerTest.floats(6, 8));
    } finally {
      late.shutdownNow();
    }
    String json =
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[1,2],\"datatype\":\"FP32\",\"data\":[1,2]}]}";
    assertThat(
            RestTest.text(
                worker.send(
                    worker.http("/v2/models/double/infer").POST(BodyPublishers.ofString(json)))))
        .contains("[2.0,4.0]");
  }

  private static ServingStatus health(RunningWorker worker) {
    return HealthGrpc.newBlockingStub(worker.channel())
        .check(HealthCheckRequest.getDefaultInstance())
        .getStatus();
  }
}

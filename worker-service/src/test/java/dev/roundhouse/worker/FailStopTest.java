package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.ServerLiveRequest;
import dev.roundhouse.kserve.proto.ServerReadyRequest;
import dev.roundhouse.worker.lifecycle.FailStopExit;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A worker whose engine has failed says so everywhere, tells every caller, and ends. */
@Timeout(60)
class FailStopTest {
  @TempDir static Path repository;

  @Test
  void shouldBeNeitherReadyNorAliveAndExitWhenTheDeviceHangs() throws Exception {
    Gate gate = new Gate();
    TestBundle.doubling(2, 1).write(repository, "double");
    try (RunningWorker worker =
        new RunningWorker(
            repository,
            gate,
            "--roundhouse.worker.watchdog.device-call=300ms",
            "--roundhouse.worker.watchdog.dispatch-turn=300ms",
            "--roundhouse.worker.shutdown.drain=1s")) {
      worker.awaitLoaded();
      assertThat(health(worker)).isEqualTo(ServingStatus.SERVING);
      gate.shut();
      var futures = GRPCInferenceServiceGrpc.newFutureStub(worker.channel());
      var running = futures.modelInfer(WorkerTest.request("double", 1, 1, 2));
      gate.awaitArrival();
      var queued = futures.modelInfer(WorkerTest.request("double", 1, 3, 4));

      for (var call : List.of(running, queued)) {
        var failure =
            catchThrowableOfType(ExecutionException.class, () -> call.get(30, TimeUnit.SECONDS));
        assertThat(Status.fromThrowable(failure.getCause()).getCode())
            .isEqualTo(Status.Code.UNAVAILABLE);
      }
      assertThat(worker.bean(Engine.class).isAlive()).isFalse();
      assertThat(worker.stub().serverReady(ServerReadyRequest.getDefaultInstance()).getReady())
          .isFalse();
      assertThat(worker.stub().serverLive(ServerLiveRequest.getDefaultInstance()).getLive())
          .isFalse();
      assertThat(health(worker)).isEqualTo(ServingStatus.NOT_SERVING);
      assertThat(worker.get("http", "/v2/health/live")).startsWith("503");
      assertThat(worker.get("http", "/v2/health/ready")).startsWith("503");
      assertThat(worker.get("metrics", "/actuator/health/liveness")).startsWith("503");
      assertThat(worker.get("metrics", "/actuator/health/readiness")).startsWith("503");
      var refused =
          catchThrowableOfType(
              StatusRuntimeException.class,
              () -> worker.stub().modelInfer(WorkerTest.request("double", 1, 5, 6)));
      assertThat(refused.getStatus().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
      assertThat(refused.getStatus().getDescription()).contains("the limit is 300 ms");
      assertThat(worker.exited().get(30, TimeUnit.SECONDS)).isEqualTo(FailStopExit.CODE);
      gate.open();
    }
  }

  private static ServingStatus health(RunningWorker worker) {
    return HealthGrpc.newBlockingStub(worker.channel())
        .check(HealthCheckRequest.getDefaultInstance())
        .getStatus();
  }
}

package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelStreamInferResponse;
import dev.roundhouse.kserve.proto.ServerLiveRequest;
import dev.roundhouse.kserve.proto.ServerReadyRequest;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.platform.lifecycle.FailStopExit;
import dev.roundhouse.transport.io.LoopEnd;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.stub.StreamObserver;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A worker whose engine has failed says so everywhere, tells every caller, and ends. */
@Timeout(60)
class FailStopTest {
  private static final Metadata.Key<String> BEGAN =
      Metadata.Key.of(WireException.BEGAN, Metadata.ASCII_STRING_MARSHALLER);

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
        assertThat(
                Objects.requireNonNull(Status.trailersFromThrowable(failure.getCause())).get(BEGAN))
            .as("of those that were on the device")
            .isEqualTo(call == running ? "true" : null);
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

  @ParameterizedTest
  @ValueSource(strings = {"HTTP", "stream"})
  void shouldSayOfWhatWasOnTheDeviceThatItWas(String by) throws Exception {
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
      gate.shut();
      List<CompletableFuture<Boolean>> calls = new ArrayList<>();
      calls.add(by.equals("HTTP") ? sentOverHttp(worker) : sentByStream(worker));
      gate.awaitArrival();
      calls.add(by.equals("HTTP") ? sentOverHttp(worker) : sentByStream(worker));
      assertThat(calls.get(0).get(30, TimeUnit.SECONDS)).isTrue();
      assertThat(calls.get(1).get(30, TimeUnit.SECONDS)).isFalse();
      assertThat(worker.exited().get(30, TimeUnit.SECONDS)).isEqualTo(FailStopExit.CODE);
      gate.open();
    }
  }

  @Test
  void shouldEndWhenAThreadOfItsServerIsGone() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "double");
    try (RunningWorker worker =
        new RunningWorker(
            repository, (Device) null, "--spring.main.sources=" + LoopEnd.class.getName())) {
      worker.awaitLoaded();
      LoopEnd.by(worker.channel());
      assertThat(worker.exited().get(30, TimeUnit.SECONDS)).isEqualTo(FailStopExit.CODE);
      assertThat(worker.bean(Engine.class).isAlive()).isFalse();
      assertThat(worker.get("metrics", "/actuator/health/liveness")).startsWith("503");
      assertThat(worker.get("metrics", "/actuator/health/readiness")).startsWith("503");
    }
  }

  private static CompletableFuture<Boolean> sentOverHttp(RunningWorker worker) {
    String body =
        "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,2],\"data\":[1,2]}]}";
    HttpRequest request =
        worker
            .http("/v2/models/double/infer")
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
    return HttpClient.newHttpClient()
        .sendAsync(request, HttpResponse.BodyHandlers.ofString())
        .thenApply(
            answer -> {
              assertThat(answer.statusCode()).isEqualTo(503);
              return answer.headers().firstValue(BEGAN.name()).isPresent();
            });
  }

  private static CompletableFuture<Boolean> sentByStream(RunningWorker worker) {
    CompletableFuture<Boolean> began = new CompletableFuture<>();
    StreamObserver<ModelInferRequest> stream =
        GRPCInferenceServiceGrpc.newStub(worker.channel())
            .modelStreamInfer(
                new StreamObserver<>() {
                  @Override
                  public void onNext(ModelStreamInferResponse answer) {
                    began.complete(
                        answer
                            .getInferResponse()
                            .getParametersMap()
                            .containsKey("roundhouse_began"));
                  }

                  @Override
                  public void onError(Throwable failure) {
                    began.completeExceptionally(failure);
                  }

                  @Override
                  public void onCompleted() {}
                });
    stream.onNext(WorkerTest.request("double", 1, 1, 2));
    return began;
  }

  private static ServingStatus health(RunningWorker worker) {
    return HealthGrpc.newBlockingStub(worker.channel())
        .check(HealthCheckRequest.getDefaultInstance())
        .getStatus();
  }
}

package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.google.common.util.concurrent.ListenableFuture;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.codec.CallerHeader;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.MetadataUtils;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a caller is told when a limit is reached, over the wire. */
@Timeout(120)
class LimitsTest {
  private static final Gate GATE = new Gate();
  @TempDir static Path repository;
  private static RunningWorker worker;

  @BeforeAll
  static void start() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "double");
    TestBundle.doubling(128, 1).write(repository, "wide");
    worker =
        new RunningWorker(
                repository,
                GATE,
                "--roundhouse.worker.scheduler.discipline=fifo",
                "--roundhouse.worker.scheduler.max-queue-depth=2",
                "--roundhouse.worker.scheduler.max-queued-bytes=2KB")
            .awaitLoaded();
  }

  @AfterAll
  static void stop() {
    worker.close();
  }

  @AfterEach
  void shouldHoldNothing() {
    GATE.open();
    worker.assertHoldsNothing();
  }

  @Test
  void shouldRefuseWithTheNumbersWhenAModelsQueueIsFull() throws Exception {
    GATE.shut();
    var running = call(small());
    GATE.awaitArrival();
    var first = call(small());
    var second = call(small());
    awaitOpen(3);

    assertRefused(
        small(),
        Status.Code.RESOURCE_EXHAUSTED,
        "2 requests wait for model 'double' and the limit is 2",
        "roundhouse.worker.scheduler.max-queue-depth");

    GATE.open();
    for (var call : List.of(running, first, second)) {
      assertThat(call.get(30, TimeUnit.SECONDS).getOutputsCount()).isOne();
    }
  }

  @Test
  void shouldHaveRoomForAnotherClientOfAGatewayWhenAModelsQueueIsFull() throws Exception {
    for (boolean overHttp : new boolean[] {false, true}) {
      GATE.shut();
      List<Future<?>> calls = new ArrayList<>();
      calls.add(call(small()));
      GATE.awaitArrival();
      calls.add(call(small()));
      calls.add(call(small()));
      awaitOpen(3);

      calls.add(overHttp ? httpCallOf("5") : callOf("5"));
      awaitOpen(4);
      Future<?> secondOfTheSame = overHttp ? callOf("5") : httpCallOf("5");
      assertThat(refusal(secondOfTheSame))
          .contains("3 requests wait for model 'double' and the limit is 2");
      assertThat(refusal(callOf("6")))
          .as("the reserve is one place")
          .contains("3 requests wait for model 'double' and the limit is 2");

      GATE.open();
      for (Future<?> call : calls) {
        assertThat(String.valueOf(call.get(30, TimeUnit.SECONDS))).contains("double");
      }
    }
  }

  private static ListenableFuture<ModelInferResponse> callOf(String caller) {
    Metadata headers = new Metadata();
    headers.put(Metadata.Key.of(CallerHeader.NAME, Metadata.ASCII_STRING_MARSHALLER), caller);
    return GRPCInferenceServiceGrpc.newFutureStub(worker.channel())
        .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers))
        .modelInfer(small());
  }

  private static Future<String> httpCallOf(String caller) {
    FutureTask<String> call =
        new FutureTask<>(
            () -> {
              HttpResponse<byte[]> answer =
                  worker.send(
                      worker
                          .http("/v2/models/double/infer")
                          .header(CallerHeader.NAME, caller)
                          .POST(
                              BodyPublishers.ofString(
                                  """
                                  {"inputs": [{"name": "x", "shape": [1, 2], "datatype": "FP32", "data": [1, 2]}]}
                                  """)));
              return new String(answer.body(), StandardCharsets.UTF_8);
            });
    Thread.ofVirtual().start(call);
    return call;
  }

  /** What a call ends with, whichever way it was made. */
  private static String refusal(Future<?> call) throws Exception {
    try {
      return String.valueOf(call.get(30, TimeUnit.SECONDS));
    } catch (ExecutionException e) {
      return Objects.requireNonNull(e.getCause()).toString();
    }
  }

  @Test
  void shouldRefuseWithTheNumbersWhenInputsHoldTooManyBytes() throws Exception {
    GATE.shut();
    ModelInferRequest wide = WorkerTest.request("wide", 1, new float[128]);
    var running = call(wide);
    GATE.awaitArrival();
    var waiting = call(wide);
    awaitOpen(2);

    String refusal =
        assertRefused(
            small(),
            Status.Code.RESOURCE_EXHAUSTED,
            "hold 2048 bytes",
            "the limit is 2048",
            "roundhouse.worker.scheduler.max-queued-bytes");
    // The second when the end of the request is a frame of its own, and the message waits for it.
    assertThat(refusal)
        .containsAnyOf(
            "'double' needs 16 (8 of inputs, 8 of its answer)",
            "this one needs 289 more to be received");

    GATE.open();
    assertThat(running.get(30, TimeUnit.SECONDS).getOutputsCount()).isOne();
    assertThat(waiting.get(30, TimeUnit.SECONDS).getOutputsCount()).isOne();
  }

  @Test
  void shouldRefuseACallThatARunWouldOutlast() throws Exception {
    for (int run = 0; run < 2; run++) { // one slow run may be an accident
      GATE.shut();
      var slow = call(small());
      GATE.awaitArrival();
      long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(200);
      while (System.nanoTime() < end) {
        Thread.onSpinWait();
      }
      GATE.open();
      slow.get(30, TimeUnit.SECONDS);
    }

    assertRefused(
        withBudget(small(), TimeUnit.MILLISECONDS.toNanos(50)),
        Status.Code.DEADLINE_EXCEEDED,
        "deadline cannot be met",
        "running 1 rows of model 'double' takes about");
  }

  @Test
  void shouldShowNoClaimsWhenTheDisciplineKnowsNone() throws Exception {
    assertThat(worker.get("metrics", "/actuator/models/double"))
        .contains("\"weight\":1.0,\"share\":null,\"deficit\":null,\"held\":false")
        .contains("\"unknownBecause\":null");
    assertThat(worker.get("metrics", "/actuator/scheduler"))
        .contains("\"discipline\":\"fifo\",\"parameters\":{\"emaHalfLifeSeconds\":null")
        .contains("\"maxRequestsPerModel\":2", "\"maxBytes\":2048");
  }

  private static ModelInferRequest small() {
    return WorkerTest.request("double", 1, 1, 2);
  }

  private static ModelInferRequest withBudget(ModelInferRequest request, long nanos) {
    InferParameter budget = InferParameter.newBuilder().setInt64Param(nanos).build();
    return request.toBuilder().putParameters("reactant_timeout_ns", budget).build();
  }

  /** Returns the text of the refusal. */
  private static String assertRefused(
      ModelInferRequest request, Status.Code code, String... fragments) {
    StatusRuntimeException refusal =
        catchThrowableOfType(StatusRuntimeException.class, () -> worker.stub().modelInfer(request));
    assertThat(refusal).isNotNull();
    assertThat(refusal.getStatus().getCode()).isEqualTo(code);
    assertThat(refusal.getStatus().getDescription()).contains(fragments);
    return Objects.requireNonNull(refusal.getStatus().getDescription());
  }

  private static void awaitOpen(int requests) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (worker.bean(Engine.class).openRequests() != requests) {
      assertThat(System.nanoTime()).as("requests become open in time").isLessThan(end);
      Thread.onSpinWait();
    }
  }

  private static ListenableFuture<ModelInferResponse> call(ModelInferRequest request) {
    return GRPCInferenceServiceGrpc.newFutureStub(worker.channel()).modelInfer(request);
  }
}

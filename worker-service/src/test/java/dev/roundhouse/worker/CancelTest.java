package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.common.util.concurrent.ListenableFuture;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.observe.ModelTotals;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import dev.roundhouse.kserve.proto.ServerLiveRequest;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** A caller who hangs up leaves nothing behind, whatever the call was doing, and harms nobody. */
@Timeout(120)
@ExtendWith(OutputCaptureExtension.class)
class CancelTest {
  /** Larger than a client takes without reading. */
  private static final int WIDE = 1 << 19;

  private static final Gate GATE = new Gate();
  @TempDir static Path repository;
  private static RunningWorker worker;

  @BeforeAll
  static void start() throws Exception {
    TestBundle.doubling(2, 1, 4).write(repository, "double");
    TestBundle.doubling(2, 1, 4).write(repository, "patient");
    TestBundle.doubling(WIDE, 1).write(repository, "wide");
    worker =
        new RunningWorker(repository, GATE, "--roundhouse.worker.models.patient.max-queue-delay=1m")
            .awaitLoaded();
  }

  @AfterAll
  static void stop() {
    worker.close();
  }

  @AfterEach
  void shouldHaveLeftNothingBehind(CapturedOutput output) {
    GATE.open();
    await(() -> engine().openRequests() == 0 && engine().heldBytes() == 0);
    assertThat(output).doesNotContain("WARN").doesNotContain("ERROR").doesNotContain("Exception");
  }

  @Test
  void shouldFreeACallThatIsQueued() throws Exception {
    GATE.shut();
    var running = call(WorkerTest.request("double", 1, 1, 2));
    GATE.awaitArrival();
    var queued = call(WorkerTest.request("double", 1, 3, 4));
    await(() -> counters("double").waiting() == 1);

    queued.cancel(true);

    await(() -> counters("double").waiting() == 0);
    await(() -> engine().heldBytes() == 16);
    GATE.open();
    assertAnswered(running, 2, 4);
  }

  @Test
  void shouldFreeACallThatIsHeld() throws Exception {
    var held = call(WorkerTest.request("patient", 1, 1, 2));
    await(() -> counters("patient").waiting() == 1);
    await(() -> worker.get("metrics", "/actuator/models/patient").contains("\"held\":true"));

    held.cancel(true);

    await(() -> engine().openRequests() == 0);
    await(() -> engine().heldBytes() == 0);
    assertThat(counters("patient").waiting()).isZero();
  }

  @Test
  void shouldAnswerTheOthersWhenOneOfARunningBatchIsCancelled() throws Exception {
    long executions = counters("patient").get(Metric.EXECUTIONS);
    long cancelled = counters("patient").get(Metric.CANCELLED);
    GATE.shut();
    List<ListenableFuture<ModelInferResponse>> calls = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      calls.add(call(WorkerTest.request("patient", 1, i, -i)));
    }
    GATE.awaitArrival();

    calls.removeFirst().cancel(true);
    // On the same connection, so it is answered after the cancellation has been seen.
    assertThat(worker.stub().serverLive(ServerLiveRequest.getDefaultInstance()).getLive()).isTrue();
    GATE.open();

    for (int i = 1; i < 4; i++) {
      assertAnswered(calls.get(i - 1), 2 * i, -2 * i);
    }
    assertThat(counters("patient").get(Metric.EXECUTIONS)).isEqualTo(executions + 1);
    assertThat(counters("patient").get(Metric.CANCELLED)).isEqualTo(cancelled + 1);
  }

  @Test
  void shouldGoOnWhenACallIsCancelledWhileItsResponseIsWritten() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    ClientCall<ModelInferRequest, ModelInferResponse> call =
        worker
            .channel()
            .newCall(GRPCInferenceServiceGrpc.getModelInferMethod(), CallOptions.DEFAULT);
    call.start(
        new ClientCall.Listener<>() {
          @Override
          public void onHeaders(Metadata headers) {
            begun.countDown();
          }
        },
        new Metadata());
    call.sendMessage(WorkerTest.request("wide", 1, new float[WIDE]));
    call.halfClose(); // and the response is never read
    begun.await();

    call.cancel("enough", null);

    var next = call(WorkerTest.request("wide", 1, new float[WIDE]));
    assertThat(next.get(30, TimeUnit.SECONDS).getRawOutputContents(0).size()).isEqualTo(4 * WIDE);
  }

  @Test
  void shouldAnswerEveryOtherCallWhenCallsAreCancelledAtAnyMoment() throws Exception {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    List<ListenableFuture<ModelInferResponse>> kept = new ArrayList<>();
    List<ListenableFuture<ModelInferResponse>> dropped = new ArrayList<>();

    for (int i = 0; i < 2_000; i++) {
      (random.nextBoolean() ? kept : dropped).add(call(WorkerTest.request("double", 1, i, -i)));
      if (!dropped.isEmpty() && random.nextInt(3) == 0) {
        dropped.remove(random.nextInt(dropped.size())).cancel(true);
      }
      while (engine().openRequests() > 500) {
        Thread.onSpinWait();
      }
    }
    dropped.forEach(call -> call.cancel(true));

    for (var call : kept) {
      assertThat(call.get(30, TimeUnit.SECONDS).getOutputsCount()).as("seed %d", seed).isOne();
    }
  }

  private static Engine engine() {
    return worker.bean(Engine.class);
  }

  private static ModelTotals counters(String model) {
    return engine().reports().counters(model).orElseThrow();
  }

  private static ListenableFuture<ModelInferResponse> call(ModelInferRequest request) {
    return GRPCInferenceServiceGrpc.newFutureStub(worker.channel()).modelInfer(request);
  }

  private static void assertAnswered(
      ListenableFuture<ModelInferResponse> call, float first, float second) throws Exception {
    assertThat(call.get(30, TimeUnit.SECONDS).getRawOutputContents(0))
        .isEqualTo(WorkerTest.floats(first, second));
  }

  private static void await(Condition condition) {
    while (!condition.holds()) {
      Thread.onSpinWait();
    }
  }

  private interface Condition {
    boolean check() throws Exception;

    default boolean holds() {
      try {
        return check();
      } catch (Exception e) {
        throw new AssertionError(e);
      }
    }
  }
}

package dev.roundhouse.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.time.NanoClock;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class EngineTest {
  @TempDir Path repository;

  private final SimulatedDevice device =
      new SimulatedDevice(SimulatedDeviceOptions.instant(TestBundle.DOUBLE), NanoClock.SYSTEM);
  private final Engine engine = Engine.open(EngineOptions.DEFAULT, device);

  @AfterEach
  void shouldLeaveNothingOnTheDeviceNorAThread() throws InterruptedException {
    engine.close();
    assertThat(device.openHandles()).isZero();
    device.close();
    for (Thread thread : Thread.getAllStackTraces().keySet()) {
      if (thread.getName().equals("dispatch") || thread.getName().startsWith("compile-")) {
        // A pool counts as terminated a moment before its last thread is gone.
        assertThat(thread.join(Duration.ofSeconds(10))).as(thread.getName()).isTrue();
      }
    }
  }

  @Test
  void shouldServeAModelAfterLoadingIt() throws Exception {
    assertThat(load("double").state()).isEqualTo(ModelState.READY);
    assertThat(engine.model("double").orElseThrow().maxBatchSize()).isEqualTo(4);
    Outcome outcome = infer("double", new long[] {1, 2}, 1.5f, -2f);
    assertThat(outcome).isInstanceOf(Outcome.Completed.class);
    Outcome.Completed done = (Outcome.Completed) outcome;
    assertThat(done.modelVersion()).isEqualTo("1");
    assertThat(Floats.of(done.outputs().getFirst())).containsExactly(3f, -4f);
  }

  @Test
  void shouldRefuseAnUnknownModelAndOtherVersions() throws Exception {
    load("double");
    assertRefused(
        infer("triple", new long[] {1, 2}, 1, 2),
        Status.NOT_FOUND,
        "Request for unknown model: 'triple' is not found");
    assertRefused(inferVersion("double", "7"), Status.NOT_FOUND, "'double' version 7 is not found");
    assertRefused(
        inferVersion("double", "latest"),
        Status.INVALID_ARGUMENT,
        "failed to get model version from specified version string 'latest'");
    assertThat(inferVersion("double", "1")).isInstanceOf(Outcome.Completed.class);
  }

  @Test
  void shouldKeepServingTheOthersWhenAModelCannotBeLoaded() throws Exception {
    load("double");
    String twoInputs =
        "module { func.func public @main(%x: tensor<1x2xf32>, %y: tensor<1x2xf32>) -> tensor<1x2xf32> { return %x : tensor<1x2xf32> } }";
    Path broken =
        TestBundle.doubling(2, 1).program("model.b1.mlir", twoInputs).write(repository, "broken");
    ModelStatus status = engine.load(broken).get(30, TimeUnit.SECONDS);
    assertThat(status.state()).isEqualTo(ModelState.FAILED);
    assertThat(status.reason()).contains("broken", "model.b1.mlir");
    assertThat(engine.isReady()).isTrue();
    assertRefused(
        infer("broken", new long[] {1, 2}, 1, 2),
        Status.NOT_FOUND,
        "'broken' has no available versions");
    assertThat(infer("double", new long[] {1, 2}, 1, 2)).isInstanceOf(Outcome.Completed.class);
  }

  @Test
  void shouldReportQueueCountsWeightsAndCostsOfEveryModel() throws Exception {
    load("double");
    infer("double", new long[] {3, 2}, 1, 2, 3, 4, 5, 6);
    assertThat(engine.report()).hasSize(1);
    ModelReport report = engine.report().getFirst();
    assertThat(report.status().name()).isEqualTo("double");
    assertThat(report.waiting()).isZero();
    assertThat(report.counts())
        .containsEntry(Metric.COMPLETED, 1L)
        .containsEntry(Metric.ROWS, 3L)
        .containsEntry(Metric.PADDING_ROWS, 1L);
    assertThat(report.programs())
        .extracting(ModelReport.ProgramReport::batchSize)
        .containsExactlyInAnyOrder(1, 4);
    // A warm-up has measured them: no guess is left.
    assertThat(report.programs())
        .allSatisfy(cost -> assertThat(cost.meanNanos()).isBetween(1.0, 9_000_000.0));
  }

  @Test
  void shouldChangeTheWeightOfAReadyModelOnly() throws Exception {
    load("double");
    assertThat(engine.setWeight("double", 2.5)).isTrue();
    assertThat(engine.setWeight("triple", 2.5)).isFalse();
    assertThatThrownBy(() -> engine.setWeight("double", 0))
        .hasMessageContaining("weight 0.0 of model 'double' is not a number above 0");
    assertThat(infer("double", new long[] {1, 2}, 1, 2)).isInstanceOf(Outcome.Completed.class);
  }

  @Test
  void shouldRefuseARequestWhoseDeadlineHasPassed() throws Exception {
    load("double");
    CompletableFuture<Outcome> outcome = new CompletableFuture<>();
    engine.submit(
        new InferenceRequest(
            "double",
            "",
            "",
            List.of(row(1, 2)),
            List.of(),
            engine.nanoTime() - 1,
            (request, result) -> outcome.complete(result)));
    assertRefused(outcome.get(10, TimeUnit.SECONDS), Status.DEADLINE_EXCEEDED, "deadline passed");
  }

  @Test
  void shouldGiveEachOfManyCallersItsOwnAnswer() throws Exception {
    load("double");
    int threads = 8;
    int each = 2_000;
    ConcurrentLinkedQueue<String> wrong = new ConcurrentLinkedQueue<>();
    List<Thread> callers = new ArrayList<>();
    for (int caller = 0; caller < threads; caller++) {
      int first = caller * each;
      callers.add(
          Thread.ofPlatform()
              .start(
                  () -> {
                    for (int i = 0; i < each; i++) {
                      float value = first + i;
                      try {
                        Outcome outcome = infer("double", new long[] {1, 2}, value, -value);
                        if (!(outcome instanceof Outcome.Completed done)
                            || Floats.of(done.outputs().getFirst())[0] != 2 * value
                            || Floats.of(done.outputs().getFirst())[1] != -2 * value) {
                          wrong.add(value + " got " + outcome);
                        }
                      } catch (Exception e) {
                        wrong.add(value + " threw " + e);
                      }
                    }
                  }));
    }
    for (Thread caller : callers) {
      caller.join();
    }
    assertThat(wrong).isEmpty();
    var counters = engine.counters("double").orElseThrow();
    assertThat(counters.get(Metric.ACCEPTED)).isEqualTo((long) threads * each);
    assertThat(counters.get(Metric.COMPLETED)).isEqualTo((long) threads * each);
    assertThat(counters.open()).isZero();
  }

  @Test
  void shouldDrainWhatWasAcceptedAndRefuseWhatComesLater() throws Exception {
    load("double");
    List<CompletableFuture<Outcome>> accepted = new ArrayList<>();
    for (int i = 0; i < 500; i++) {
      accepted.add(submit("double", "", row(i, i)));
    }
    assertThat(engine.drain(Duration.ofSeconds(20))).isTrue();
    for (CompletableFuture<Outcome> outcome : accepted) {
      assertThat(outcome.getNow(new Outcome.Cancelled("open")))
          .isInstanceOf(Outcome.Completed.class);
    }
    assertThat(engine.isReady()).isFalse();
    assertRefused(infer("double", new long[] {1, 2}, 1, 2), Status.UNAVAILABLE, "Server exiting");
  }

  @Test
  void shouldShedWhatWaitsWhenClosedAndNotRunIt() throws Exception {
    SimulatedDevice slow =
        new SimulatedDevice(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE)
                .withExecutionNanos(program -> 20_000_000),
            NanoClock.SYSTEM);
    Engine closing = Engine.open(EngineOptions.DEFAULT, slow);
    closing.load(TestBundle.doubling(2, 1).write(repository, "slow")).get(30, TimeUnit.SECONDS);
    List<CompletableFuture<Outcome>> outcomes = new ArrayList<>();
    for (int i = 0; i < 600; i++) {
      CompletableFuture<Outcome> outcome = new CompletableFuture<>();
      outcomes.add(outcome);
      closing.submit(
          new InferenceRequest(
              "slow",
              "",
              "",
              List.of(row(i, i)),
              List.of(),
              InferenceRequest.NO_DEADLINE,
              (request, result) -> outcome.complete(result)));
    }
    long before = slow.executions();
    closing.close();
    // 600 runs would take 12 s; the one that was running may end, and one may just have begun.
    assertThat(slow.executions() - before).isLessThan(5);
    int shed = 0;
    for (CompletableFuture<Outcome> outcome : outcomes) {
      Outcome ended = outcome.getNow(new Outcome.Cancelled("still open"));
      assertThat(ended).isInstanceOfAny(Outcome.Completed.class, Outcome.Shed.class);
      shed += ended instanceof Outcome.Shed ? 1 : 0;
    }
    assertThat(shed).isGreaterThan(500);
    assertThat(slow.openHandles()).isZero();
    slow.close();
  }

  private ModelStatus load(String name) throws Exception {
    return engine
        .load(TestBundle.doubling(2, 1, 4).write(repository, name))
        .get(30, TimeUnit.SECONDS);
  }

  private Outcome infer(String model, long[] shape, float... values) throws Exception {
    return submit(model, "", Floats.input("x", shape, values)).get(30, TimeUnit.SECONDS);
  }

  private Outcome inferVersion(String model, String version) throws Exception {
    return submit(model, version, row(1, 2)).get(30, TimeUnit.SECONDS);
  }

  private CompletableFuture<Outcome> submit(String model, String version, InputTensor input) {
    CompletableFuture<Outcome> outcome = new CompletableFuture<>();
    engine.submit(
        new InferenceRequest(
            model,
            version,
            "",
            List.of(input),
            List.of(),
            InferenceRequest.NO_DEADLINE,
            (request, result) -> outcome.complete(result)));
    return outcome;
  }

  private static InputTensor row(float a, float b) {
    return Floats.input("x", new long[] {1, 2}, a, b);
  }

  private static void assertRefused(Outcome outcome, Status status, String text) {
    assertThat(outcome).isInstanceOf(Outcome.Refused.class);
    assertThat(((Outcome.Refused) outcome).status()).isEqualTo(status);
    assertThat(((Outcome.Refused) outcome).message()).contains(text);
  }
}

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
import dev.roundhouse.engine.testing.ReplySink;
import dev.roundhouse.engine.testing.ReplySink.Reply;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.time.NanoClock;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class EngineTest {
  private static final Reply OPEN = new Reply(new Outcome.Cancelled("open"), List.of());

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
      if (Set.of("dispatch", "outputs", "weights", "watchdog").contains(thread.getName())
          || thread.getName().startsWith("compile-")) {
        // A pool counts as terminated a moment before its last thread is gone.
        assertThat(thread.join(Duration.ofSeconds(10))).as(thread.getName()).isTrue();
      }
    }
  }

  @Test
  void shouldHaveTheThreadsThatLoadAndFreeModelsBeforeTheyAreNeeded() {
    assertThat(Thread.getAllStackTraces().keySet())
        .extracting(Thread::getName)
        .contains("compile-1", "unload");
  }

  @Test
  void shouldServeAModelAfterLoadingIt() throws Exception {
    assertThat(load("double").state()).isEqualTo(ModelState.READY);
    assertThat(engine.model("double").orElseThrow().maxBatchSize()).isEqualTo(4);
    Reply done = submit("double", "", row(1.5f, -2f)).get(30, TimeUnit.SECONDS);
    assertThat(done.outcome())
        .isInstanceOfSatisfying(
            Outcome.Completed.class,
            completed -> assertThat(completed.modelVersion()).isEqualTo("1"));
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
    ModelStatus status = engine.admin().load(broken).get(30, TimeUnit.SECONDS);
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
    assertThat(engine.reports().details()).hasSize(1);
    ModelReport report = engine.reports().details().getFirst();
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
    assertThat(engine.admin().setWeight("double", 2.5)).isTrue();
    assertThat(engine.admin().setWeight("triple", 2.5)).isFalse();
    assertThatThrownBy(() -> engine.admin().setWeight("double", 0))
        .hasMessageContaining("weight 0.0 of model 'double' is not a number above 0");
    assertThat(infer("double", new long[] {1, 2}, 1, 2)).isInstanceOf(Outcome.Completed.class);
  }

  @Test
  void shouldRefuseARequestWhoseDeadlineHasPassed() throws Exception {
    load("double");
    ReplySink sink = new ReplySink();
    engine.submit(
        InferenceRequest.of("double", List.of(row(1, 2)), sink)
            .deadlineNanos(engine.nanoTime() - 1)
            .build());
    assertRefused(
        sink.reply().get(10, TimeUnit.SECONDS).outcome(),
        Status.DEADLINE_EXCEEDED,
        "deadline passed");
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
                        Reply done =
                            submit("double", "", row(value, -value)).get(30, TimeUnit.SECONDS);
                        Outcome outcome = done.outcome();
                        if (!(outcome instanceof Outcome.Completed)
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
    var counters = engine.reports().counters("double").orElseThrow();
    assertThat(counters.get(Metric.ACCEPTED)).isEqualTo((long) threads * each);
    assertThat(counters.get(Metric.COMPLETED)).isEqualTo((long) threads * each);
    assertThat(counters.open()).isZero();
  }

  @Test
  void shouldDrainWhatWasAcceptedAndRefuseWhatComesLater() throws Exception {
    load("double");
    List<CompletableFuture<Reply>> accepted = new ArrayList<>();
    for (int i = 0; i < 500; i++) {
      accepted.add(submit("double", "", row(i, i)));
    }
    assertThat(engine.drain(Duration.ofSeconds(20))).isTrue();
    for (CompletableFuture<Reply> reply : accepted) {
      assertThat(reply.getNow(OPEN).outcome()).isInstanceOf(Outcome.Completed.class);
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
    closing
        .admin()
        .load(TestBundle.doubling(2, 1).write(repository, "slow"))
        .get(30, TimeUnit.SECONDS);
    List<CompletableFuture<Reply>> outcomes = new ArrayList<>();
    for (int i = 0; i < 600; i++) {
      ReplySink sink = new ReplySink();
      outcomes.add(sink.reply());
      closing.submit(InferenceRequest.of("slow", List.of(row(i, i)), sink).build());
    }
    long before = slow.executions();
    closing.close();
    // 600 runs would take 12 s; the one that was running may end, and one may just have begun.
    assertThat(slow.executions() - before).isLessThan(5);
    int shed = 0;
    for (CompletableFuture<Reply> reply : outcomes) {
      Outcome ended = reply.getNow(OPEN).outcome();
      assertThat(ended).isInstanceOfAny(Outcome.Completed.class, Outcome.Shed.class);
      shed += ended instanceof Outcome.Shed ? 1 : 0;
    }
    assertThat(shed).isGreaterThan(500);
    assertThat(slow.openHandles()).isZero();
    slow.close();
  }

  private ModelStatus load(String name) throws Exception {
    return engine
        .admin()
        .load(TestBundle.doubling(2, 1, 4).write(repository, name))
        .get(30, TimeUnit.SECONDS);
  }

  private Outcome infer(String model, long[] shape, float... values) throws Exception {
    return submit(model, "", Floats.input("x", shape, values)).get(30, TimeUnit.SECONDS).outcome();
  }

  private Outcome inferVersion(String model, String version) throws Exception {
    return submit(model, version, row(1, 2)).get(30, TimeUnit.SECONDS).outcome();
  }

  private CompletableFuture<Reply> submit(String model, String version, InputTensor input) {
    ReplySink sink = new ReplySink();
    engine.submit(InferenceRequest.of(model, List.of(input), sink).version(version).build());
    return sink.reply();
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

package dev.roundhouse.engine.model;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.VersionPolicy;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.engine.schedule.FairShare;
import dev.roundhouse.engine.schedule.VirtualTime;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestEngine;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class ModelLifeTest {
  private static final long RUN_NANOS = 1_000_000;

  @TempDir Path repository;

  private final TestEngine engine =
      new TestEngine(
          SimulatedDeviceOptions.instant(TestBundle.DOUBLE)
              .withExecutionNanos(program -> RUN_NANOS),
          1024);

  @AfterEach
  void shouldLeaveNothingOpenAndNothingOnTheDevice() {
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  @Test
  void shouldRunWhatWasAcceptedBeforeItFreesAnUnloadedModel() {
    engine.load(TestBundle.doubling(2, 1).write(repository, "m"));
    Submission running = engine.submit("m", row(1));
    engine.step();
    Submission queued = engine.submit("m", row(2));
    CompletableFuture<Void> freed = engine.engine().admin().unload("m");

    Submission late = engine.submit("m", row(3));
    assertThat(refusal(late)).isEqualTo(Status.NOT_FOUND);
    assertThat(freed).isNotDone();
    assertThat(state("m")).isEqualTo(ModelState.UNLOADING);
    assertThat(engine.device().openHandles()).isPositive();

    engine.run();
    assertThat(freed).isCompleted();
    assertThat(Floats.of(engine.completed(running).outputs().getFirst())).containsExactly(2, 2);
    assertThat(Floats.of(engine.completed(queued).outputs().getFirst())).containsExactly(4, 4);
    assertThat(engine.device().openHandles()).isZero();
    assertThat(engine.engine().reports().residentWeightBytes()).isZero();
    assertThat(state("m")).isEqualTo(ModelState.UNLOADED);
    assertThat(engine.engine().reports().index().getFirst().reason()).isEqualTo("unloaded");
    assertThat(engine.counters("m").get(Metric.COMPLETED)).isEqualTo(2);
    assertThat(engine.counters("m").get(Metric.REFUSED_UNAVAILABLE)).isEqualTo(1);
  }

  @Test
  void shouldFreeAModelWhoseLastRequestWasCancelledOnItsWay() {
    engine.load(TestBundle.doubling(2, 1).write(repository, "m"));
    Submission cancelled = engine.submit("m", row(1));
    CompletableFuture<Void> freed = engine.engine().admin().unload("m");
    engine.cancel(cancelled);
    // What was cancelled is still on its way to a lane that goes in this very turn.
    engine.run();
    assertThat(freed).isCompleted();
    assertThat(engine.outcome(cancelled)).isInstanceOf(Outcome.Cancelled.class);
  }

  @Test
  void shouldRunAHeldBatchAtOnceWhenItsModelIsUnloaded() {
    TestEngine holding =
        new TestEngine(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE),
            EngineOptions.builder().maxQueueDelay(Duration.ofSeconds(10)).build());
    holding.load(TestBundle.doubling(2, 4).write(repository, "m"));
    Submission held = holding.submit("m", row(1));
    while (holding.step() > 0) {}
    assertThat(holding.isOver(held)).isFalse();
    long before = holding.clock().nanoTime();
    CompletableFuture<Void> freed = holding.engine().admin().unload("m");
    holding.run();
    assertThat(freed).isCompleted();
    holding.completed(held);
    assertThat(holding.clock().nanoTime() - before).isLessThan(Duration.ofSeconds(1).toNanos());
    holding.assertNothingLeaks();
  }

  @Test
  void shouldAnswerFromTheOldVersionWhatItAcceptedAndFromTheNewWhatComesLater() {
    write("1");
    assertThat(load(VersionPolicy.LATEST).version()).isEqualTo("1");
    Submission running = engine.submit("m", row(1));
    engine.step();
    Submission queued = engine.submit("m", row(2));
    write("2");
    assertThat(load(VersionPolicy.LATEST).version()).isEqualTo("2");
    Submission later = engine.submit("m", row(3));
    engine.run();
    assertThat(engine.completed(running).modelVersion()).isEqualTo("1");
    assertThat(engine.completed(queued).modelVersion()).isEqualTo("1");
    assertThat(engine.completed(later).modelVersion()).isEqualTo("2");
    assertThat(versions()).containsExactly("2 READY");
    assertThat(engine.device().openHandles()).isEqualTo(1);
    assertThat(engine.counters("m").get(Metric.COMPLETED)).isEqualTo(3);
  }

  @Test
  void shouldServeVersionsSideBySideWhenThePolicySaysSo() {
    write("1");
    write("2");
    write("10");
    assertThat(load(new VersionPolicy.All()).version()).isEqualTo("10");
    assertThat(versions()).containsExactly("1 READY", "2 READY", "10 READY");
    for (String version : List.of("1", "2", "10")) {
      Submission request = submit(version);
      engine.run();
      assertThat(engine.completed(request).modelVersion()).isEqualTo(version);
    }
    Submission newest = submit("");
    engine.run();
    assertThat(engine.completed(newest).modelVersion()).isEqualTo("10");

    load(VersionPolicy.parse("latest:2"));
    engine.run();
    assertThat(versions()).containsExactly("2 READY", "10 READY");
    load(VersionPolicy.parse("1,10"));
    engine.run();
    assertThat(versions()).containsExactly("1 READY", "10 READY");
    assertThat(refusal(submit("2"))).isEqualTo(Status.NOT_FOUND);

    CompletableFuture<Void> freed = engine.engine().admin().unload("m", "10");
    engine.run();
    assertThat(freed).isCompleted();
    Submission older = submit("");
    engine.run();
    assertThat(engine.completed(older).modelVersion()).isEqualTo("1");
  }

  @Test
  void shouldKeepTheOldVersionWhenTheNewOneFailsAndSayWhy() throws Exception {
    write("1");
    load(VersionPolicy.LATEST);
    Files.writeString(write("2").resolve("model.b1.mlir"), "not a program");
    ModelStatus failed = load(VersionPolicy.LATEST);
    assertThat(failed.state()).isEqualTo(ModelState.FAILED);
    assertThat(failed.version()).isEqualTo("2");
    assertThat(versions()).containsExactly("1 READY", "2 FAILED");
    assertThat(engine.engine().reports().failedModels()).isEqualTo(1);
    assertThat(engine.engine().isReady()).isTrue();
    Submission served = submit("");
    engine.run();
    assertThat(engine.completed(served).modelVersion()).isEqualTo("1");

    write("2");
    assertThat(load(VersionPolicy.LATEST).isReady()).isTrue();
    engine.run();
    assertThat(versions()).containsExactly("2 READY");
    assertThat(engine.engine().reports().failedModels()).isZero();
  }

  @Test
  void shouldNameAVersionThatThePolicyWantsAndTheFolderLacks() {
    write("1");
    ModelStatus status = load(VersionPolicy.parse("1,3"));
    assertThat(status.version()).isEqualTo("3");
    assertThat(status.reason()).contains("m/3");
    assertThat(versions()).containsExactly("1 READY", "3 FAILED");
  }

  @Test
  void shouldLoadAFailedNameAgain() throws Exception {
    Path folder = TestBundle.doubling(2, 1).write(repository, "m");
    byte[] sound = Files.readAllBytes(folder.resolve("model.b1.mlir"));
    Files.writeString(folder.resolve("model.b1.mlir"), "not a program");
    assertThat(engine.load(folder).state()).isEqualTo(ModelState.FAILED);
    assertThat(engine.engine().reports().failedModels()).isEqualTo(1);
    Files.write(folder.resolve("model.b1.mlir"), sound);
    assertThat(engine.load(folder).state()).isEqualTo(ModelState.READY);
    assertThat(engine.engine().reports().failedModels()).isZero();
    Submission request = engine.submit("m", row(1));
    engine.run();
    engine.completed(request);
  }

  @Test
  void shouldReloadOnlyWhatHasChangedWhenRefreshed() throws Exception {
    write("1");
    Path second = write("2");
    VersionPolicy all = new VersionPolicy.All();
    load(all);
    long runs = engine.device().executions();
    engine.engine().admin().refresh(repository.resolve("m"), all).join();
    assertThat(engine.device().executions()).as("warm-up runs").isEqualTo(runs);

    Files.writeString(second.resolve("model.b1.mlir"), "not a program");
    engine.engine().admin().refresh(repository.resolve("m"), all).join();
    assertThat(engine.engine().model("m", "2").orElseThrow().reason()).contains("still serves");
    write("2");
    engine.engine().admin().refresh(repository.resolve("m"), all).join();
    assertThat(engine.engine().model("m", "2").orElseThrow().reason()).isEmpty();
    engine.run();
    // Three warm-up runs of the one version that changed.
    assertThat(engine.device().executions()).isEqualTo(runs + 3);
  }

  @Test
  void shouldKeepAWeightThatWasSetWhenTheModelIsReplaced() {
    Path folder = TestBundle.doubling(2, 1).write(repository, "m");
    engine.load(folder, 7);
    engine.load(folder);
    engine.run();
    var state = engine.engine().reports().scheduler();
    engine.step();
    assertThat(state.join().dispatch().models()).hasSize(1);
    assertThat(state.join().dispatch().models().getFirst().weight()).isEqualTo(7);
  }

  static Stream<Discipline> disciplines() {
    return Stream.of(new FairShare(Duration.ofSeconds(30).toNanos(), 0.25), new VirtualTime());
  }

  @ParameterizedTest
  @MethodSource("disciplines")
  void shouldNotHoldTheFormerModelsUseAgainstWhoGetsItsSlot(Discipline discipline) {
    TestEngine shared =
        new TestEngine(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE)
                .withExecutionNanos(program -> RUN_NANOS),
            1024,
            discipline);
    shared.load(TestBundle.doubling(2, 1).write(repository, "other"));
    shared.load(TestBundle.doubling(2, 1).write(repository, "greedy"));
    for (int i = 0; i < 200; i++) {
      shared.submit("greedy", row(i));
    }
    shared.submit("other", row(0));
    shared.run();
    CompletableFuture<Void> freed = shared.engine().admin().unload("greedy");
    shared.run();
    assertThat(freed).isCompleted();
    shared.load(TestBundle.doubling(2, 1).write(repository, "newcomer"));
    for (int i = 0; i < 20; i++) {
      shared.submit("newcomer", row(i));
      shared.submit("other", row(i));
    }
    for (int i = 0; i < 20; i++) {
      shared.step();
      shared.clock().advance(RUN_NANOS);
    }
    assertThat(shared.counters("newcomer").get(Metric.COMPLETED)).isBetween(8L, 12L);
    shared.run();
    shared.assertNothingLeaks();
  }

  @Test
  void shouldComeBackToTheBaselineAfterAThousandCycles() {
    Path stays = TestBundle.doubling(2, 1).write(repository, "stays");
    Path comes = TestBundle.doubling(2, 1, 4).write(repository, "comes");
    engine.load(stays);
    int handles = engine.device().openHandles();
    for (int cycle = 0; cycle < 1_000; cycle++) {
      assertThat(engine.load(comes).isReady()).isTrue();
      Submission request = engine.submit("comes", row(cycle));
      CompletableFuture<Void> freed = engine.engine().admin().unload("comes");
      engine.run();
      assertThat(freed).isCompleted();
      engine.completed(request);
    }
    assertThat(engine.device().openHandles()).isEqualTo(handles);
    assertThat(engine.engine().reports().residentWeightBytes()).isZero();
    assertThat(engine.counters("comes").get(Metric.COMPLETED)).isEqualTo(1_000);
    assertThat(engine.engine().reports().index()).hasSize(2);
    var state = engine.engine().reports().scheduler();
    engine.step();
    assertThat(state.join().dispatch().models()).hasSize(1);
  }

  private Path write(String version) {
    return TestBundle.doubling(2, 1).write(repository.resolve("m"), version);
  }

  private ModelStatus load(VersionPolicy policy) {
    return engine.engine().admin().load(repository.resolve("m"), policy).join();
  }

  private List<String> versions() {
    return engine.engine().reports().versions("m").stream()
        .map(status -> status.version() + " " + status.state())
        .toList();
  }

  private ModelState state(String model) {
    return engine.engine().model(model).orElseThrow().state();
  }

  private Submission submit(String version) {
    return engine.submit(engine.request("m", row(1)).version(version));
  }

  private Status refusal(Submission request) {
    assertThat(engine.outcome(request)).isInstanceOf(Outcome.Refused.class);
    return ((Outcome.Refused) engine.outcome(request)).status();
  }

  private static InputTensor row(float value) {
    return Floats.input("x", new long[] {1, 2}, value, value);
  }
}

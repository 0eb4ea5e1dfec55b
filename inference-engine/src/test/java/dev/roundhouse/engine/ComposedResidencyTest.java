package dev.roundhouse.engine;

import static dev.roundhouse.bundle.model.ServingDefaults.Residency.PINNED_DEVICE;
import static dev.roundhouse.bundle.model.ServingDefaults.Residency.PINNED_SYSTEM;
import static dev.roundhouse.engine.testing.SmallDevice.BYTES;
import static dev.roundhouse.engine.testing.SmallDevice.LRU;
import static dev.roundhouse.engine.testing.SmallDevice.MILLIS;
import static dev.roundhouse.engine.testing.SmallDevice.SCRATCH;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.dispatch.DispatchState.Place;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.residency.ResidencyOptions;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.testing.SmallDevice;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestEngine;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What calls others, on a device that does not hold the weights of all. */
@Timeout(60)
class ComposedResidencyTest {
  /** Of a megabyte on the link: much longer than of a run. */
  private static final long LOAD = 10 * MILLIS;

  private static final long RUN = MILLIS;
  private static final long LINK = BYTES * 1_000_000_000L / LOAD;

  @TempDir Path repository;

  private TestEngine engine = engine(2, LRU);

  /** A device for so many models of a megabyte. */
  private static TestEngine engine(int models, ResidencyOptions options) {
    return new TestEngine(
        SimulatedDeviceOptions.instant(TestBundle.DOUBLE)
            .withMemoryBytes(models * (long) BYTES + SCRATCH)
            .withExecutionNanos(program -> RUN)
            .withLinkBytesPerSecond(LINK),
        EngineOptions.builder().discipline(Fifo::new).residency(options).build());
  }

  @AfterEach
  void shouldLeaveNothing() {
    engine.run();
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  private void load(String... models) {
    for (String model : models) {
      ready(engine.load(TestBundle.weighted(BYTES).write(repository, model)));
    }
  }

  private static void ready(ModelStatus status) {
    assertThat(status.state()).as(status.reason()).isEqualTo(ModelState.READY);
  }

  /** An ensemble that calls these one after the other. */
  private void loadChain(String name, String... models) {
    ready(chain(name, models));
  }

  private ModelStatus chain(String name, String... models) {
    StringBuilder steps = new StringBuilder();
    for (int i = 0; i < models.length; i++) {
      steps.append(
          "  - {model: %s, inputs: {x: %s}, outputs: {y: %s}}%n"
              .formatted(
                  models[i],
                  i == 0 ? "x" : "t%d".formatted(i),
                  i == models.length - 1 ? "y" : "t%d".formatted(i + 1)));
    }
    return engine.load(
        TestBundle.ensemble(
                """
                inputs: [{name: x, dtype: f32, shape: [n, 2]}]
                outputs: [{name: y, dtype: f32, shape: [n, 2]}]
                steps:
                """
                    + steps)
            .write(repository, name));
  }

  private Submission ask(String model) {
    return engine.submit(model, SmallDevice.row(1));
  }

  private Place place(String model) {
    return engine.lane(model).weights().place();
  }

  private long loads(String model) {
    return engine.counters(model).get(Metric.WEIGHT_LOADS);
  }

  // --- while it runs

  @Test
  void shouldBringTheWeightsOfLaterStepsWhileTheFirstRuns() {
    load("a", "b", "c");
    loadChain("m", "b", "a");
    engine.run();
    assertThat(place("a")).as("warmed up first, and evicted").isEqualTo(Place.ABSENT);
    long began = engine.clock().nanoTime();
    Submission run = ask("m");
    engine.run();
    engine.completed(run);
    assertThat(engine.clock().nanoTime() - began)
        .as("its load begins when the run does, not when it is called")
        .isLessThan(LOAD + 2 * RUN);
  }

  @Test
  void shouldKeepWeightsOfStepsToComeFromLeavingForOthers() {
    load("a", "b", "c");
    loadChain("m", "b", "c", "b", "c", "b", "c");
    engine.run();
    ask("m");
    ask("a");
    long before = loads("b") + loads("c");
    engine.run();
    assertThat(loads("b") + loads("c") - before).as("both stay until the run has ended").isZero();
    assertThat(place("a")).isEqualTo(Place.RESIDENT);
  }

  @Test
  void shouldNotKeepOthersOutForLongerThanAnyRequestWould() {
    load("a", "b", "c");
    String[] steps = new String[200];
    for (int i = 0; i < steps.length; i++) {
      steps[i] = i % 2 == 0 ? "b" : "c";
    }
    loadChain("m", steps);
    engine.run();
    Submission other = ask("a");
    Submission run = ask("m");
    while (!engine.isOver(other)) {
      turn();
    }
    engine.completed(other);
    assertThat(engine.isOver(run)).as("a run of 200 ms").isFalse();
    engine.run();
    engine.completed(run);
  }

  private void turn() {
    if (engine.step() == 0) {
      engine.clock().advance(RUN / 10);
    }
  }

  @Test
  void shouldRunWhatNeedsMoreThanTheDeviceHolds() {
    load("a", "b", "c");
    loadChain("m", "a", "b", "c", "a", "b", "c");
    Submission run = ask("m");
    engine.run();
    assertThat(SmallDevice.answer(engine, run)).isEqualTo(64);
  }

  @Test
  void shouldHoldNothingAfterAFailedOrCancelledRun() {
    load("a", "b", "c");
    loadChain("m", "b", "c");
    engine.run();
    Submission run = ask("m");
    engine.step();
    assertThat(engine.cancel(run)).isTrue();
    engine.run();
    assertThat(engine.outcome(run)).isInstanceOf(Outcome.Cancelled.class);
    Submission late =
        engine.submit("m", engine.clock().nanoTime() + 1, List.of(), SmallDevice.row(1));
    engine.clock().advance(RUN);
    engine.run();
    assertThat(engine.outcome(late)).isNotInstanceOf(Outcome.Completed.class);
    Submission other = ask("a");
    long began = engine.clock().nanoTime();
    engine.run();
    engine.completed(other);
    assertThat(engine.clock().nanoTime() - began).as("at once").isLessThan(2 * LOAD);
  }

  // --- as one unit

  @Test
  void shouldPinAllThatItCallsOrNothing() {
    load("a", "b", "c");
    loadChain("m", "a", "b");
    loadChain("n", "b", "c");
    done(engine.engine().admin().setResidency("m", PINNED_DEVICE));
    assertThat(place("a")).isEqualTo(Place.RESIDENT);
    assertThat(place("b")).isEqualTo(Place.RESIDENT);
    assertThat(engine.engine().needs("m")).containsExactlyInAnyOrder("a", "b");
    CompletableFuture<Void> tooMuch = engine.engine().admin().setResidency("n", PINNED_DEVICE);
    engine.run();
    assertThatThrownBy(() -> settled(tooMuch).join()).hasMessageContaining("pinning its");
    assertThat(engine.lane("c").weights().pinned()).isFalse();
    assertThat(engine.lane("b").weights().pinned()).as("it was before").isTrue();
    done(engine.engine().admin().setResidency("m", PINNED_SYSTEM));
    assertThat(engine.lane("a").weights().pinned()).isFalse();
    assertThat(engine.lane("b").weights().pinned()).isFalse();
  }

  @Test
  void shouldLeaveToAnotherThatIsPinnedWhatBothCall() {
    shouldBeOfThree();
    load("a", "b", "c");
    loadChain("m", "a", "b");
    loadChain("n", "b", "c");
    done(engine.engine().admin().setResidency("m", PINNED_DEVICE));
    done(engine.engine().admin().setResidency("n", PINNED_DEVICE));
    done(engine.engine().admin().setResidency("m", PINNED_SYSTEM));
    assertThat(engine.lane("a").weights().pinned()).isFalse();
    assertThat(engine.lane("b").weights().pinned()).isTrue();
    assertThat(engine.lane("c").weights().pinned()).isTrue();
  }

  private void shouldBeOfThree() {
    engine.assertNothingLeaks();
    engine = engine(3, LRU);
  }

  private boolean isPinned(String model) {
    return engine.lane(model).weights().pinned();
  }

  @Test
  void shouldPinWhatANewVersionCallsAndLetGoOfWhatOnlyTheOldOneCalled() {
    shouldBeOfThree();
    load("a", "b", "c");
    loadChain("m", "a", "b");
    done(engine.engine().admin().setResidency("m", PINNED_DEVICE));
    loadChain("m", "b", "c");
    engine.run();
    assertThat(isPinned("a")).isFalse();
    assertThat(isPinned("b")).isTrue();
    assertThat(isPinned("c")).isTrue();
    assertThat(place("c")).isEqualTo(Place.RESIDENT);
  }

  @Test
  void shouldKeepWhatIsPinnedByItselfWhenANewVersionDoesNotCallIt() {
    shouldBeOfThree();
    load("a", "b", "c");
    done(engine.engine().admin().setResidency("a", PINNED_DEVICE));
    loadChain("m", "a", "b");
    done(engine.engine().admin().setResidency("m", PINNED_DEVICE));
    loadChain("m", "b", "c");
    engine.run();
    assertThat(isPinned("a")).isTrue();
  }

  @Test
  void shouldNotTakeANewVersionOfWhichNotAllCanBePinned() {
    load("a", "b", "c");
    loadChain("m", "a", "b");
    done(engine.engine().admin().setResidency("m", PINNED_DEVICE));
    assertThat(chain("m", "b", "c").reason())
        .contains("it is pinned, and all that this version calls cannot be: pinning its");
    engine.run();
    assertThat(isPinned("a")).isTrue();
    assertThat(isPinned("b")).isTrue();
    assertThat(isPinned("c")).isFalse();
    assertThat(engine.engine().needs("m")).containsExactlyInAnyOrder("a", "b");
  }

  @Test
  void shouldPinNewVersionsOfWhatItCalls() {
    shouldBeOfThree();
    load("a", "b");
    loadChain("m", "a", "b");
    done(engine.engine().admin().setResidency("m", PINNED_DEVICE));
    load("a");
    engine.run();
    assertThat(isPinned("a")).isTrue();
    done(engine.engine().admin().setResidency("a", PINNED_SYSTEM));
    assertThat(isPinned("a")).as("which is pinned calls it").isTrue();
    done(engine.engine().admin().setResidency("m", PINNED_SYSTEM));
    assertThat(isPinned("a")).isFalse();
  }

  @Test
  void shouldLetGoWhenItIsUnloadedAndPinAgainWhenItIsLoaded() {
    load("a", "b");
    loadChain("m", "a", "b");
    done(engine.engine().admin().setResidency("m", PINNED_DEVICE));
    done(engine.engine().admin().unload("m"));
    assertThat(isPinned("a")).isFalse();
    assertThat(isPinned("b")).isFalse();
    loadChain("m", "a", "b");
    assertThat(isPinned("a")).isTrue();
    assertThat(isPinned("b")).isTrue();
  }

  @Test
  void shouldNotLookForWeightsInCircles() {
    chain("m", "n");
    chain("n", "m");
    assertThat(engine.engine().needs("m")).isEmpty();
  }

  @Test
  void shouldBringBackAllThatItCallsWhenCompacted() {
    load("a", "b", "c");
    loadChain("m", "a", "b");
    var compacted = engine.engine().admin().compact(List.of("m"));
    engine.run();
    assertThat(compacted.join().reloaded()).isEqualTo(2);
    assertThat(place("a")).isEqualTo(Place.RESIDENT);
    assertThat(place("b")).isEqualTo(Place.RESIDENT);
  }

  @Test
  void shouldAnswerOnlyWhenAllIsThereThatTheOperatorBrings() {
    engine.assertNothingLeaks();
    engine = engine(2, LRU.withSelfManaged(false));
    load("a", "b");
    loadChain("m", "a", "b");
    engine.run();
    assertThat(engine.engine().answers("m", "")).isFalse();
    assertThat(engine.engine().awaitsOperator("m", "")).isTrue();
    done(engine.engine().admin().setResidency("a", PINNED_DEVICE));
    assertThat(engine.engine().answers("m", "")).isFalse();
    done(engine.engine().admin().setResidency("m", PINNED_DEVICE));
    assertThat(engine.engine().answers("m", "")).isTrue();
  }

  private void done(CompletableFuture<Void> change) {
    engine.run();
    settled(change).join();
  }

  /** Its last part is done by another thread, which may need the loop. */
  private CompletableFuture<Void> settled(CompletableFuture<Void> change) {
    while (!change.isDone()) {
      engine.run();
      Thread.onSpinWait();
    }
    return change;
  }
}

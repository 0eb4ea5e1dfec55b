package dev.roundhouse.engine.lane;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.MetaRun;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.ShedReason;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.engine.schedule.EarliestDeadline;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.schedule.ForwardingDiscipline;
import dev.roundhouse.engine.schedule.VirtualTime;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.HookedDevice.Call;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestEngine;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.ToLongFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Where the lanes stand: ready, held, ahead of all others, or gone. */
class LanesTest {
  private static final long MILLIS = 1_000_000;
  private static final long DELAY = 10 * MILLIS;

  @TempDir Path repository;

  // --- ready

  @Test
  void shouldServeManyModels() {
    TestEngine engine = engine(new Fifo(), Duration.ZERO, name -> 0);
    List<Submission> all = new ArrayList<>();
    for (int model = 0; model < 40; model++) {
      engine.load(TestBundle.doubling(2, 1).write(repository, "m" + model));
      all.add(submit(engine, "m" + model, 1));
    }
    engine.run();
    all.forEach(engine::completed);
    assertThat(engine.state().models()).hasSize(40);
  }

  @Test
  void shouldTellTheDisciplineWhatARowOfTheNextBatchCosts() {
    List<Double> told = new ArrayList<>();
    TestEngine engine =
        engine(
            new Watching(front -> told.add(front.rowCostNanos())),
            Duration.ZERO,
            name -> name.contains(".b4.") ? 8 * MILLIS : 3 * MILLIS);
    engine.load(TestBundle.doubling(2, 1, 4).write(repository, "m"));
    told.clear();
    submit(engine, "m", 1);
    engine.step();
    assertThat(told).as("a row alone").containsOnly(3e6);
    told.clear();
    for (int i = 0; i < 4; i++) {
      submit(engine, "m", 1);
    }
    engine.run();
    assertThat(told).as("four rows together").containsOnly(2e6);
    told.clear();
    submit(engine, "m", 4);
    engine.run();
    assertThat(told).as("four rows of one request").containsOnly(2e6);
  }

  @Test
  void shouldShowTheWeightThatAModelWasGiven() {
    TestEngine engine = engine(new VirtualTime(), Duration.ZERO, name -> MILLIS);
    engine.load(TestBundle.doubling(2, 1).write(repository, "one"));
    engine.load(TestBundle.doubling(2, 1).write(repository, "other"), 3);
    assertThat(engine.lane("one").weight()).isEqualTo(1);
    assertThat(engine.lane("other").weight()).isEqualTo(3);
    assertThat(engine.engine().admin().setWeight("nobody", 2)).isFalse();
  }

  @Test
  void shouldChargeNobodyForABatchThatDidNotStart() {
    TestEngine engine = engine(new VirtualTime(), Duration.ZERO, name -> MILLIS);
    engine.load(TestBundle.doubling(2, 1).write(repository, "good"));
    engine.load(TestBundle.doubling(2, 1).write(repository, "bad"));
    engine.hook(
        (call, of) -> {
          if (call == Call.EXECUTE && of.startsWith("bad")) {
            throw new IllegalStateException("made by a test");
          }
        });
    Submission running = submit(engine, "good", 1);
    engine.step();
    List<Submission> bad = new ArrayList<>();
    List<Submission> good = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      bad.add(submit(engine, "bad", 1));
      good.add(submit(engine, "good", 1));
    }
    engine.run();
    engine.completed(running);
    good.forEach(engine::completed);
    // It was due all the time, since what failed cost the device nothing.
    assertThat(engine.finished().subList(0, 6)).containsAll(bad);
  }

  @Test
  void shouldPlanWithoutRowsOfRequestsThatAreOver() {
    TestEngine engine = engine(new Fifo(), Duration.ZERO, name -> MILLIS);
    engine.load(TestBundle.doubling(2, 1, 4).write(repository, "m"));
    Submission running = submit(engine, "m", 1);
    engine.step();
    Submission front = submit(engine, "m", 1);
    Submission left = submit(engine, "m", 3);
    Submission late =
        engine.submit("m", engine.clock().nanoTime() + 1900 * MILLIS / 1000, List.of(), rows(3));
    engine.step(); // it is in the queue
    engine.cancel(left);
    engine.run();
    engine.completed(running);
    assertThat(engine.completed(front).timings().batchRows()).isEqualTo(1);
    assertThat(((Outcome.Shed) engine.outcome(late)).reason())
        .isEqualTo(ShedReason.TOO_LITTLE_TIME);
    assertThat(engine.counters("m").get(Metric.PADDING_ROWS)).isZero();
    engine.assertQuiescent();
  }

  @Test
  void shouldJudgeWhatIsLeftOfALargeRequestByTheProgramThatHoldsIt() {
    TestEngine engine =
        engine(
            new EarliestDeadline(),
            Duration.ZERO,
            name -> name.contains(".b4.") ? 10 * MILLIS : 2 * MILLIS);
    engine.load(TestBundle.doubling(2, 1, 4).write(repository, "m"));
    Submission large =
        engine.submit("m", engine.clock().nanoTime() + 21 * MILLIS, List.of(), rows(5));
    engine.clock().advance(5 * MILLIS); // the last row has 6 ms left after the first four
    engine.run();
    engine.completed(large);
    Submission tight =
        engine.submit("m", engine.clock().nanoTime() + 2 * MILLIS + 1, List.of(), rows(1));
    engine.run();
    engine.completed(tight);
  }

  // --- held

  @Test
  void shouldRunAHeldBatchAtOnceWhenItHasBecomeFull() {
    TestEngine engine = holding();
    List<Submission> held = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      held.add(submit(engine, "m", 1));
      engine.step();
      assertThat(engine.lane("m").held()).isTrue();
      assertThat(engine.lane("m").queued()).isEqualTo(i + 1);
      engine.clock().advance(MILLIS);
    }
    long due = engine.nextMomentNanos();
    held.add(submit(engine, "m", 1));
    engine.step();
    assertThat(engine.lane("m").held()).isFalse();
    engine.run();
    for (int i = 0; i < 4; i++) {
      assertThat(engine.completed(held.get(i)).timings().queueNanos()).isEqualTo((3 - i) * MILLIS);
    }
    assertThat(engine.nextMomentNanos()).as("nothing is held").isEqualTo(Long.MAX_VALUE);
    engine.clock().sleepUntil(due + 1);
    engine.step();
    engine.assertQuiescent();
  }

  @Test
  void shouldForgetAHeldBatchThatACallOfAMetaTookAlong() {
    TestEngine engine = holding();
    Submission held = submit(engine, "m", 1);
    engine.step();
    long due = engine.nextMomentNanos();
    assertThat(due).isEqualTo(engine.clock().nanoTime() + DELAY);
    Submission ahead = engine.submitFor(new MetaRun(), "m", InferenceRequest.NO_DEADLINE, rows(1));
    engine.run();
    assertThat(engine.completed(ahead).timings().batchRows()).isEqualTo(2);
    assertThat(engine.completed(held).timings().queueNanos()).isZero();
    assertThat(engine.nextMomentNanos()).isEqualTo(Long.MAX_VALUE);
    engine.clock().sleepUntil(due + 1);
    assertThat(engine.lane("m").held()).isFalse();
    engine.assertQuiescent();
  }

  @Test
  void shouldRunWhatAModelHoldsWhenItIsUnloaded() {
    TestEngine engine = holding();
    engine.load(TestBundle.doubling(2, 4).write(repository, "other"));
    Submission held = submit(engine, "m", 1);
    Submission stays = submit(engine, "other", 1);
    engine.step();
    CompletableFuture<Void> unloaded = engine.engine().admin().unload("m");
    for (int turn = 0; turn < 5; turn++) {
      engine.step();
    }
    assertThat(engine.completed(held).timings().queueNanos()).isZero();
    assertThat(unloaded).isDone();
    assertThat(engine.isOver(stays)).as("others hold on").isFalse();
    engine.run();
    engine.completed(stays);
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  @Test
  void shouldHoldNothingThatComesInAfterItsModelWasUnloaded() {
    TestEngine engine = holding();
    List<Submission> accepted = new ArrayList<>();
    for (int i = 0; i < 4 * 80 + 1; i++) { // more than are taken in one turn
      accepted.add(submit(engine, "m", 1));
    }
    CompletableFuture<Void> unloaded = engine.engine().admin().unload("m");
    long now = engine.clock().nanoTime();
    for (int turn = 0; turn < 500 && !unloaded.isDone(); turn++) {
      engine.step();
    }
    assertThat(unloaded).isDone();
    assertThat(engine.clock().nanoTime()).as("nobody waited for the delay").isEqualTo(now);
    accepted.forEach(engine::completed);
  }

  @Test
  void shouldRunWhatIsHeldWhenTheEngineHoldsNothingAnyMore() {
    TestEngine engine = holding();
    Submission held = submit(engine, "m", 1);
    engine.step();
    engine.engine().admin().stopHolding();
    for (int turn = 0; turn < 5; turn++) {
      engine.step();
    }
    assertThat(engine.completed(held).timings().queueNanos()).isZero();
    assertThat(engine.nextMomentNanos()).isEqualTo(Long.MAX_VALUE);
  }

  @Test
  void shouldAllowForTheLongestRunOfLateWhenItHoldsABatchWithADeadline() {
    TestEngine engine =
        engine(
            new Fifo(), Duration.ofSeconds(1), name -> name.startsWith("long") ? 64 * MILLIS : 0);
    engine.load(TestBundle.doubling(2, 4).write(repository, "m"));
    engine.load(TestBundle.doubling(2, 1).write(repository, "long"));
    engine.load(TestBundle.doubling(2, 1).write(repository, "short"));
    submit(engine, "long", 1);
    engine.run();
    assertThat(waited(engine)).isEqualTo(200 * MILLIS - 1 - 64 * MILLIS);
    for (int run = 0; run < 256; run++) {
      submit(engine, "short", 1);
      engine.run();
    }
    assertThat(waited(engine))
        .as("a run that is not repeated fades")
        .isBetween(200 * MILLIS - 64 * MILLIS * 2 / 5, 200 * MILLIS - 64 * MILLIS / 3);
  }

  /** How long a request with 200 ms is held. */
  private long waited(TestEngine engine) {
    Submission request =
        engine.submit("m", engine.clock().nanoTime() + 200 * MILLIS, List.of(), rows(1));
    engine.run();
    return engine.completed(request).timings().queueNanos();
  }

  private TestEngine holding() {
    TestEngine engine = engine(new Fifo(), Duration.ofNanos(DELAY), name -> 0);
    engine.load(TestBundle.doubling(2, 4).write(repository, "m"));
    return engine;
  }

  private static TestEngine engine(
      Discipline discipline, Duration delay, ToLongFunction<String> runNanos) {
    return new TestEngine(
        SimulatedDeviceOptions.instant(TestBundle.DOUBLE).withExecutionNanos(runNanos),
        EngineOptions.builder()
            .discipline(TestEngine.forDevice(discipline))
            .maxQueueDelay(delay)
            .build());
  }

  private static Submission submit(TestEngine engine, String model, int rows) {
    return engine.submit(model, rows(rows));
  }

  private static InputTensor rows(int rows) {
    return Floats.input("x", new long[] {rows, 2}, new float[2 * rows]);
  }

  /** First come, first served; tells a test what it is told. */
  private static final class Watching extends ForwardingDiscipline {
    private final Consumer<Front> told;

    Watching(Consumer<Front> told) {
      super(new Fifo());
      this.told = told;
    }

    @Override
    public boolean watchesQueues() {
      return true;
    }

    @Override
    public void ready(int slot, Front front) {
      told.accept(front);
      super.ready(slot, front);
    }
  }
}

package dev.roundhouse.engine.dispatch;

import static dev.roundhouse.bundle.request.RequestOptions.DEFAULT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

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
import dev.roundhouse.engine.testing.BrittleDiscipline;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.HookedDevice.Call;
import dev.roundhouse.engine.testing.ReplySink;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestEngine;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** One batch runs while the next is armed, which can be taken apart until it starts. */
class PipelineTest {
  private static final long RUN = 1_000_000;

  /** How long before the expected end of a run the next batch is armed. */
  private static final long AHEAD = 100_000;

  @TempDir Path repository;

  @Test
  void shouldArmTheNextBatchShortlyBeforeTheRunIsExpectedToEnd() {
    TestEngine engine = engine(new Fifo());
    row(engine, "a", 1);
    engine.step();
    Submission next = row(engine, "b", 2);
    engine.clock().advance(RUN - AHEAD - 1);
    engine.step();
    assertThat(armed(engine)).isNull();
    engine.clock().advance(1);
    engine.step();
    assertThat(armed(engine)).isEqualTo("b");
    assertThat(running(engine)).isEqualTo("a");
    assertThat(engine.counters("b").waiting()).as("until it starts").isEqualTo(1);
    engine.clock().advance(AHEAD);
    engine.step();
    assertThat(engine.counters("b").waiting()).isZero();
    engine.run();
    assertThat(running(engine)).isNull();
    assertThat(floats(engine, next)).containsExactly(4, 4);
    assertThat(engine.completed(next).timings().queueNanos()).isEqualTo(RUN);
    done(engine);
  }

  @Test
  void shouldTakeAlongWhatArrivesAfterABatchWasArmed() {
    TestEngine engine = engine(new Fifo());
    row(engine, "a", 1);
    engine.step();
    List<Submission> batch = new ArrayList<>(List.of(row(engine, "a", 2)));
    arm(engine, "a");
    for (int value = 3; value < 6; value++) {
      batch.add(row(engine, "a", value));
    }
    long before = engine.device().executions();
    engine.run();
    assertThat(engine.device().executions() - before).as("all four in one run").isEqualTo(1);
    for (int i = 0; i < batch.size(); i++) {
      assertThat(floats(engine, batch.get(i))).containsExactly(2 * (i + 2), 2 * (i + 2));
      assertThat(engine.completed(batch.get(i)).timings().batchRows()).isEqualTo(4);
    }
    done(engine);
  }

  @Test
  void shouldNotChooseAgainWhenNothingThatHasComeCanChangeTheChoice() {
    BrittleDiscipline counted = new BrittleDiscipline();
    AtomicInteger choices = new AtomicInteger();
    TestEngine engine = engine(counted);
    row(engine, "a", 0);
    engine.step();
    List<Submission> full = new ArrayList<>();
    for (int value = 1; value < 5; value++) {
      full.add(row(engine, "a", value));
    }
    counted.onChoice(choices::incrementAndGet);
    arm(engine, "a");
    Submission later = row(engine, "a", 5);
    engine.clock().advance(AHEAD);
    engine.step();
    assertThat(choices).as("the full batch runs as it was armed").hasValue(1);
    engine.run();
    for (int i = 0; i < full.size(); i++) {
      assertThat(floats(engine, full.get(i))).containsExactly(2 * (i + 1), 2 * (i + 1));
    }
    assertThat(engine.completed(later).timings().batchRows()).isEqualTo(1);
    done(engine);
  }

  @Test
  void shouldChooseAgainWhenTheRunTookOtherThanExpectedAndAnotherModelIsReady() {
    AtomicLong runNanos = new AtomicLong(RUN);
    BrittleDiscipline counted = new BrittleDiscipline();
    AtomicInteger choices = new AtomicInteger();
    TestEngine engine = new TestEngine(device(program -> runNanos.get()), 64, counted);
    engine.load(TestBundle.doubling(2, 1).write(repository, "a"));
    engine.load(TestBundle.doubling(2, 1).write(repository, "b"));
    runNanos.set(RUN + 1);
    row(engine, "a", 0);
    engine.step();
    runNanos.set(RUN);
    row(engine, "a", 1);
    row(engine, "b", 2);
    counted.onChoice(choices::incrementAndGet);
    arm(engine, "a");
    engine.clock().advance(AHEAD);
    engine.step();
    assertThat(choices).as("armed, and chosen again by what the run took").hasValue(2);
    engine.run();
    done(engine);
  }

  @Test
  void shouldDropAnArmedRequestThatALongerRunHasMadeTooLate() {
    AtomicLong runNanos = new AtomicLong(RUN);
    TestEngine engine =
        new TestEngine(device(program -> runNanos.get()), 64, new EarliestDeadline());
    engine.load(TestBundle.doubling(2, 1).write(repository, "a"));
    runNanos.set(3 * RUN);
    row(engine, "a", 0);
    engine.step();
    runNanos.set(RUN);
    Submission tight =
        engine.submit("a", engine.clock().nanoTime() + 5 * RUN / 2, List.of(), input(1));
    arm(engine, "a");
    long before = engine.device().executions();
    engine.run();
    assertThat(engine.outcome(tight)).isInstanceOf(Outcome.Shed.class);
    assertThat(engine.device().executions()).as("no run for it").isEqualTo(before);
    done(engine);
  }

  @Test
  void shouldDropAnArmedRequestThatHasBecomeTooLateThoughTheRunTookWhatWasExpected() {
    TestEngine engine = engine(new EarliestDeadline());
    row(engine, "a", 0);
    engine.step();
    Submission tight =
        engine.submit("a", engine.clock().nanoTime() + 2 * RUN - AHEAD / 4, List.of(), input(1));
    arm(engine, "a");
    long before = engine.device().executions();
    engine.run();
    assertThat(engine.outcome(tight)).isInstanceOf(Outcome.Shed.class);
    assertThat(engine.device().executions()).as("no run for it").isEqualTo(before);
    done(engine);
  }

  @Test
  void shouldUseWhatWasUploadedWhenTheNewChoiceIsTheSame() {
    TestEngine engine = engine(new Fifo());
    AtomicInteger uploads = new AtomicInteger();
    row(engine, "a", 0);
    engine.step();
    engine.hook((call, of) -> uploads.addAndGet(call == Call.UPLOAD ? 1 : 0));
    Submission armed = row(engine, "a", 1);
    arm(engine, "a");
    Submission other = row(engine, "b", 2);
    engine.clock().advance(AHEAD);
    engine.step();
    assertThat(uploads).as("one for each batch").hasValue(1);
    engine.run();
    assertThat(uploads).hasValue(2);
    assertThat(floats(engine, armed)).containsExactly(2, 2);
    assertThat(floats(engine, other)).containsExactly(4, 4);
    done(engine);
  }

  @Test
  void shouldChooseAgainEachTimeAnArmedBatchCouldBeAnother() {
    TestEngine engine = new TestEngine(device(program -> RUN), 64, new Fifo());
    engine.load(TestBundle.doubling(2, 4).write(repository, "a"));
    row(engine, "a", 0);
    engine.step();
    List<Submission> all = new ArrayList<>();
    for (int value = 1; value < 13; value += 2) {
      all.add(row(engine, "a", value));
      arm(engine, "a");
      all.add(row(engine, "a", value + 1));
      engine.clock().advance(AHEAD / 2);
      engine.step();
      assertThat(engine.counters("a").waiting()).as("of %d and the next", value).isZero();
    }
    engine.run();
    for (int i = 0; i < all.size(); i++) {
      assertThat(floats(engine, all.get(i))).containsExactly(2 * (i + 1), 2 * (i + 1));
      assertThat(engine.completed(all.get(i)).timings().batchRows()).isEqualTo(2);
    }
    done(engine);
  }

  @Test
  void shouldSayHowLongWhatIsArmedHasWaited() {
    TestEngine engine = engine(new Fifo());
    row(engine, "a", 0);
    engine.step();
    row(engine, "b", 1);
    arm(engine, "b");
    assertThat(engine.engine().reports().details("b").orElseThrow().oldestWaitNanos())
        .isEqualTo(RUN - AHEAD / 2);
    engine.run();
    done(engine);
  }

  @Test
  void shouldDropAnArmedRequestThatHasWaitedTooLong() {
    TestEngine engine = engine(new Fifo());
    row(engine, "a", 0);
    engine.step();
    Submission impatient =
        engine.submit(
            engine.request("a", input(1)).options(DEFAULT.withQueueTimeout(Duration.ofNanos(RUN))));
    arm(engine, "a");
    engine.clock().advance(AHEAD / 2);
    long before = engine.device().executions();
    engine.run();
    assertThat(((Outcome.Shed) engine.outcome(impatient)).reason())
        .isEqualTo(ShedReason.QUEUE_TIMEOUT);
    assertThat(engine.device().executions()).as("no run for it").isEqualTo(before);
    done(engine);
  }

  @Test
  void shouldRunAnArmedRequestThatHasWaitedAlmostTooLong() {
    TestEngine engine = engine(new Fifo());
    row(engine, "a", 0);
    engine.step();
    Submission patient =
        engine.submit(
            engine
                .request("a", input(1))
                .options(DEFAULT.withQueueTimeout(Duration.ofNanos(RUN + 1))));
    arm(engine, "a");
    engine.run();
    assertThat(floats(engine, patient)).containsExactly(2, 2);
    done(engine);
  }

  @Test
  void shouldRunWhatWasArmedWhenNothingBetterHasCome() {
    TestEngine engine = engine(new Fifo());
    row(engine, "a", 1);
    engine.step();
    Submission armed = row(engine, "a", 2);
    arm(engine, "a");
    Submission later = row(engine, "b", 3);
    engine.run();
    assertThat(engine.finished().subList(1, 3)).containsExactly(armed, later);
    assertThat(floats(engine, armed)).containsExactly(4, 4);
    done(engine);
  }

  @Test
  void shouldLetAMoreUrgentModelTakeThePlaceOfTheArmedBatch() {
    TestEngine engine = engine(new EarliestDeadline());
    Submission running = row(engine, "a", 1);
    engine.step();
    List<Submission> displaced = new ArrayList<>();
    for (int value = 0; value < 7; value++) {
      displaced.add(row(engine, "a", value));
    }
    arm(engine, "a");
    Submission urgent =
        engine.submit("b", engine.clock().nanoTime() + 3 * RUN, List.of(), input(9));
    Submission last = row(engine, "a", 7);
    engine.run();
    List<Submission> expected = new ArrayList<>(List.of(running, urgent));
    expected.addAll(displaced);
    expected.add(last);
    assertThat(engine.finished()).containsExactlyElementsOf(expected);
    for (int value = 0; value < 7; value++) {
      assertThat(floats(engine, displaced.get(value))).containsExactly(2 * value, 2 * value);
    }
    done(engine);
  }

  @Test
  void shouldAnswerTheOthersWhenOneOfTheArmedBatchIsCancelled() {
    TestEngine engine = engine(new Fifo());
    row(engine, "a", 1);
    engine.step();
    List<Submission> batch = new ArrayList<>();
    for (int value = 0; value < 4; value++) {
      batch.add(row(engine, "a", value));
    }
    arm(engine, "a");
    assertThat(engine.cancel(batch.get(1))).isTrue();
    engine.step();
    assertThat(engine.outcome(batch.get(1))).isInstanceOf(Outcome.Cancelled.class);
    assertThat(engine.counters("a").waiting()).isEqualTo(3);
    Submission instead = row(engine, "a", 4);
    long before = engine.device().executions();
    engine.run();
    assertThat(engine.device().executions() - before)
        .as("its place is somebody else's")
        .isEqualTo(1);
    assertThat(floats(engine, batch.get(0))).containsExactly(0, 0);
    assertThat(floats(engine, batch.get(2))).containsExactly(4, 4);
    assertThat(floats(engine, batch.get(3))).containsExactly(6, 6);
    assertThat(floats(engine, instead)).containsExactly(8, 8);
    done(engine);
  }

  @Test
  void shouldRunNothingWhenAllOfTheArmedBatchAreCancelled() {
    TestEngine engine = engine(new Fifo());
    row(engine, "a", 1);
    engine.step();
    List<Submission> batch = List.of(row(engine, "a", 2), row(engine, "a", 3));
    arm(engine, "a");
    batch.forEach(engine::cancel);
    long before = engine.device().executions();
    engine.run();
    assertThat(engine.device().executions()).isEqualTo(before);
    assertThat(engine.counters("a").get(Metric.CANCELLED)).isEqualTo(2);
    Submission next = row(engine, "a", 4);
    engine.run();
    assertThat(floats(engine, next)).containsExactly(8, 8);
    done(engine);
  }

  @Test
  void shouldRunTheArmedBatchOfAModelThatIsUnloadedOrGivenAnotherWeight() {
    TestEngine engine = engine(new Fifo());
    row(engine, "a", 1);
    engine.step();
    Submission armed = row(engine, "b", 2);
    arm(engine, "b");
    assertThat(engine.engine().admin().setWeight("b", 7)).isTrue();
    CompletableFuture<Void> unloaded = engine.engine().admin().unload("b");
    engine.step();
    assertThat(unloaded).isNotDone();
    engine.run();
    assertThat(floats(engine, armed)).containsExactly(4, 4);
    assertThat(unloaded).isCompleted();
    done(engine);
  }

  @Test
  void shouldArmAHeldBatchThatFallsDueWhileAnotherRuns() {
    TestEngine engine =
        new TestEngine(
            device(program -> RUN),
            EngineOptions.builder()
                .discipline(Fifo::new)
                .maxQueueDelay(Duration.ofNanos(RUN / 2))
                .build());
    engine.load(TestBundle.doubling(2, 1, 4).write(repository, "a"));
    engine.load(TestBundle.doubling(2, 1).write(repository, "b"));
    Submission held = row(engine, "a", 1);
    Submission running = row(engine, "b", 2);
    engine.step();
    assertThat(engine.isOver(running)).isFalse();
    engine.clock().advance(RUN - AHEAD);
    engine.step();
    assertThat(armed(engine)).isEqualTo("a");
    engine.run();
    assertThat(engine.completed(held).timings().queueNanos()).isEqualTo(RUN);
    done(engine);
  }

  @Test
  void shouldSpreadALargeRequestOverTheSlotsAndShareItsLastPiece() {
    TestEngine engine = engine(new Fifo());
    float[] many = new float[2 * 10];
    float[] doubled = new float[many.length];
    for (int i = 0; i < many.length; i++) {
      many[i] = i;
      doubled[i] = 2 * i;
    }
    Submission large = engine.submit("a", Floats.input("x", new long[] {10, 2}, many));
    Submission mate = row(engine, "a", 50);
    Submission other = row(engine, "a", 60);
    long before = engine.device().executions();
    engine.run();
    assertThat(engine.device().executions() - before).isEqualTo(3);
    assertThat(floats(engine, large)).containsExactly(doubled);
    assertThat(floats(engine, mate)).containsExactly(100, 100);
    assertThat(floats(engine, other)).containsExactly(120, 120);
    assertThat(engine.completed(large).timings().computeNanos()).isEqualTo(3 * RUN);
    done(engine);
  }

  @Test
  void shouldRunAMetasLargeCallToItsLastPieceBeforeAnythingElse() {
    TestEngine engine = engine(new Fifo());
    Submission running = row(engine, "a", 1);
    engine.step();
    List<Submission> flood = new ArrayList<>();
    for (int i = 0; i < 12; i++) {
      flood.add(row(engine, i % 2 == 0 ? "a" : "b", i));
    }
    Submission call =
        engine.submitFor(
            new MetaRun(),
            "b",
            InferenceRequest.NO_DEADLINE,
            Floats.input("x", new long[] {11, 2}, new float[22]));
    engine.run();
    assertThat(engine.finished().subList(0, 2)).containsExactly(running, call);
    assertThat(engine.completed(call).timings().queueNanos()).isEqualTo(RUN);
    assertThat(engine.finished()).hasSize(14).containsAll(flood);
    done(engine);
  }

  @Test
  void shouldKeepTheCallsOfAMetaInOrderWhenTheirBatchIsTakenApart() {
    TestEngine engine = engine(new Fifo());
    Submission running = row(engine, "a", 1);
    engine.step();
    Submission first = call(engine, "b", new MetaRun(), 1);
    arm(engine, "b");
    Submission second = call(engine, "a", new MetaRun(), 2);
    Submission third = call(engine, "b", new MetaRun(), 3);
    engine.run();
    assertThat(engine.finished()).startsWith(running, first).hasSize(4).contains(second, third);
    done(engine);
  }

  @Test
  void shouldAnswerWhoASmallerProgramCouldServeInTime() {
    TestEngine engine =
        new TestEngine(
            device(program -> program.contains("b4") ? 40 * RUN : 10 * RUN),
            EngineOptions.builder().discipline(EarliestDeadline::new).build());
    engine.load(TestBundle.doubling(2, 1, 4).write(repository, "a"));
    Submission a = engine.submit("a", engine.clock().nanoTime() + 25 * RUN, List.of(), input(1));
    List<Submission> patient =
        List.of(row(engine, "a", 2), row(engine, "a", 3), row(engine, "a", 4));
    engine.run();
    assertThat(engine.completed(a).timings().computeNanos()).isEqualTo(10 * RUN);
    patient.forEach(engine::completed);
    done(engine);
  }

  @Test
  void shouldWarmAModelUpBetweenOtherModelsRuns() {
    TestEngine engine = engine(new Fifo());
    List<Submission> closedLoop = new ArrayList<>();
    Submission[] current = {null};
    Runnable[] next = {null};
    next[0] =
        () -> {
          if (closedLoop.size() < 20) {
            current[0] = row(engine, "a", 1);
            closedLoop.add(current[0]);
            replyOf(current[0]).thenRun(next[0]);
          }
        };
    next[0].run();
    long before = engine.device().executions();
    engine.load(TestBundle.doubling(2, 1, 4).write(repository, "loaded"));
    long together = engine.device().executions() - before;
    engine.run();
    assertThat(together).as("six to warm two programs up, and others between").isBetween(10L, 14L);
    for (Submission request : closedLoop) {
      assertThat(engine.completed(request).timings().queueNanos()).isLessThanOrEqualTo(RUN);
    }
    done(engine);
  }

  @Test
  void shouldTakeARequestOnceOnly() {
    TestEngine engine = engine(new Fifo());
    Submission first = row(engine, "a", 1);
    assertThatThrownBy(() -> engine.engine().submit(first.request()))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("'a' has been submitted before; make a new one for each call");
    engine.run();
    assertThat(floats(engine, first)).containsExactly(2, 2);
    assertThatThrownBy(() -> engine.engine().submit(first.request()))
        .isInstanceOf(IllegalStateException.class);
    assertThat(engine.counters("a").get(Metric.ACCEPTED)).isEqualTo(1);
    done(engine);
  }

  private TestEngine engine(Discipline discipline) {
    TestEngine engine = new TestEngine(device(program -> RUN), 64, discipline);
    engine.load(TestBundle.doubling(2, 1, 4).write(repository, "a"));
    engine.load(TestBundle.doubling(2, 1, 4).write(repository, "b"));
    return engine;
  }

  private static SimulatedDeviceOptions device(ToLongFunction<String> runNanos) {
    return SimulatedDeviceOptions.instant(TestBundle.DOUBLE).withExecutionNanos(runNanos);
  }

  /** Lets time pass until the next batch is armed, of that model. */
  private static void arm(TestEngine engine, String model) {
    engine.clock().advance(RUN - AHEAD / 2);
    engine.step();
    assertThat(armed(engine)).isEqualTo(model);
  }

  private static @Nullable String running(TestEngine engine) {
    var scheduler = engine.engine().reports().scheduler();
    engine.step();
    return scheduler.join().dispatch().running();
  }

  private static @Nullable String armed(TestEngine engine) {
    var scheduler = engine.engine().reports().scheduler();
    engine.step();
    return scheduler.join().dispatch().armed();
  }

  private static Submission row(TestEngine engine, String model, float value) {
    return engine.submit(model, input(value));
  }

  private static Submission call(TestEngine engine, String model, MetaRun run, float value) {
    return engine.submitFor(run, model, InferenceRequest.NO_DEADLINE, input(value));
  }

  private static InputTensor input(float value) {
    return Floats.input("x", new long[] {1, 2}, value, value);
  }

  private static float[] floats(TestEngine engine, Submission request) {
    return Floats.of(engine.completed(request).outputs().getFirst());
  }

  private static CompletableFuture<?> replyOf(Submission request) {
    return ((ReplySink) request.request().sink()).reply();
  }

  private static void done(TestEngine engine) {
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }
}

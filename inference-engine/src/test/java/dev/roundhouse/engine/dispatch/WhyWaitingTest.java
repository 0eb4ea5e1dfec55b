package dev.roundhouse.engine.dispatch;

import static dev.roundhouse.bundle.request.RequestOptions.DEFAULT;
import static dev.roundhouse.engine.testing.SmallDevice.BYTES;
import static dev.roundhouse.engine.testing.SmallDevice.MILLIS;
import static dev.roundhouse.engine.testing.SmallDevice.SCRATCH;
import static dev.roundhouse.engine.testing.SmallDevice.load;
import static dev.roundhouse.engine.testing.SmallDevice.row;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.model.ServingDefaults.Residency;
import dev.roundhouse.bundle.request.SequenceStep;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.TurnedEngine;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.dispatch.DispatchState.LaneState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.observe.Waiting;
import dev.roundhouse.engine.request.MetaRun;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.engine.schedule.EarliestDeadline;
import dev.roundhouse.engine.schedule.FairShare;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.schedule.ForwardingDiscipline;
import dev.roundhouse.engine.schedule.VirtualTime;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.HookedDevice.Call;
import dev.roundhouse.engine.testing.SmallDevice;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestEngine;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Each reason for which a model waits, staged; and that what is said comes true. */
class WhyWaitingTest {
  private static final long RUN = 10 * MILLIS;

  /** What the link brings in a second: a model's weights in 1 ms. */
  private static final long LINK = 1_000L * BYTES;

  @TempDir Path repository;

  // --- the device

  @Test
  void shouldSayNothingOfAModelThatNothingWaitsFor() {
    TestEngine engine = busy("a", "b");
    assertThat(engine.lane("a").waiting()).as("it runs").isNull();
    assertThat(engine.lane("b").waiting()).as("it idles").isNull();
  }

  @Test
  void shouldSayWhichPlaceInLineAModelHasAndWhatTheDeviceIsBusyWith() {
    TestEngine engine = busy("a", "b", "c");
    engine.submit("c", row(1));
    engine.clock().advance(2 * MILLIS);
    engine.submit("b", row(1));
    engine.clock().advance(2 * MILLIS);
    DispatchState state = engine.state();
    Waiting first = why(state, "c");
    assertThat(first.reason()).isEqualTo("device");
    assertThat(first.place()).isEqualTo(1);
    assertThat(first.sinceNanos()).isEqualTo(4 * MILLIS);
    assertThat(first.inNanos()).isEqualTo(6 * MILLIS);
    assertThat(first.behind()).isEqualTo("a");
    assertThat(first.words())
        .isEqualTo("runs next; the device is busy with 'a' for about 6 ms more");
    Waiting second = why(state, "b");
    assertThat(second.place()).isEqualTo(2);
    assertThat(second.behind()).isEqualTo("c");
    assertThat(second.inNanos()).isEqualTo(Waiting.UNKNOWN);
    assertThat(second.words())
        .isEqualTo("2nd by arrival, behind 'c'; the device is busy with 'a' for about 6 ms more");
  }

  @Test
  void shouldSayThatARunTakesLongerThanUsual() {
    assertThat(new Waiting.InLine(0, 1, "by share", "a", new Waiting.Busy("a", false, RUN, -5)))
        .satisfies(
            line -> {
              assertThat(line.inNanos()).isEqualTo(Waiting.UNKNOWN);
              assertThat(line.words())
                  .isEqualTo(
                      "runs next; the device is busy with 'a' for longer than the usual 10 ms");
            });
  }

  @Test
  void shouldSayThatABatchIsMadeUpAndWhatComesBehindIt() {
    TestEngine engine = busy("a", "b", "c");
    engine.submit("b", row(1));
    armNext(engine);
    assertThat(engine.state().armed()).isEqualTo("b");
    DispatchState state = engine.state();
    assertThat(why(state, "b").reason()).isEqualTo("armed");
    assertThat(why(state, "b").place()).isEqualTo(1);
    assertThat(why(state, "b").words())
        .startsWith("its batch is made up and runs next; the device is busy with 'a' for about ");
    engine.submit("c", row(1));
    state = engine.state();
    assertThat(why(state, "c").place()).isEqualTo(2);
    assertThat(why(state, "c").behind()).isEqualTo("b");
    assertThat(why(state, "b").words()).contains("unless what has come meanwhile goes first");
    assertThat(why(state, "b").place()).as("not certain").isZero();
    assertThat(nextRuns(engine)).startsWith("b", "c");
  }

  @Test
  void shouldSayThatMetasCallsGoAheadOfTheOthers() {
    TestEngine engine = busy("a", "b", "c", "d");
    engine.submit("b", row(1));
    engine.submitFor(new MetaRun(), "c", Long.MAX_VALUE, row(1));
    engine.submitFor(new MetaRun(), "d", Long.MAX_VALUE, row(1));
    DispatchState state = engine.state();
    assertThat(why(state, "c").place()).isEqualTo(1);
    assertThat(why(state, "d").place()).isEqualTo(2);
    assertThat(why(state, "d").words())
        .startsWith("2nd of metas' calls, which go ahead, behind 'c'");
    assertThat(why(state, "b").place()).isEqualTo(3);
    assertThat(nextRuns(engine)).startsWith("c", "d", "b");
  }

  @Test
  void shouldNotCountAModelAheadWhoseRequestsWereAllCancelled() {
    TestEngine engine = busy("a", "b", "c");
    Submission gone = engine.submit("b", row(1));
    engine.submit("c", row(1));
    engine.step();
    engine.cancel(gone);
    DispatchState state = engine.state();
    assertThat(lane(state, "b").waiting()).isNull();
    assertThat(why(state, "c").place()).isEqualTo(1);
  }

  @Test
  void shouldSayThatARunToWarmUpAnotherModelComesFirst() {
    try (TurnedEngine engine =
        new TurnedEngine(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE).withExecutionNanos(p -> RUN))) {
      for (String name : List.of("a", "b")) {
        Path folder = TestBundle.doubling(2, 1).write(repository, name);
        engine.load(admin -> admin.load(folder));
      }
      engine.submit("a", 1);
      engine.turn();
      Path folder = TestBundle.doubling(2, 1).write(repository, "c");
      CompletableFuture<ModelStatus> loading = engine.begin(admin -> admin.load(folder));
      engine.submit("b", 1);
      engine.turn();
      CompletableFuture<DispatchState> asked = engine.proxy().describe(DispatchState.Scope.ALL);
      engine.turn();
      DispatchState state = asked.join();
      assertThat(state.running()).isEqualTo("a");
      assertThat(why(state, "b").place()).isEqualTo(2);
      assertThat(why(state, "b").behind()).isEqualTo("c");
      List<String> runs = new ArrayList<>();
      engine.hook((call, of) -> runs.addAll(call == Call.EXECUTE ? List.of(model(of)) : List.of()));
      engine.turnUntil("both have run", () -> runs.size() >= 2);
      assertThat(runs).startsWith("c", "b");
      engine.turnUntil("it is loaded", loading::isDone);
      engine.run();
    }
  }

  @Test
  void shouldSayUntilWhenABatchIsHeld() {
    TestEngine engine =
        new TestEngine(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE),
            EngineOptions.builder().maxQueueDelay(Duration.ofMillis(10)).build());
    engine.load(TestBundle.doubling(2, 4).write(repository, "a"));
    engine.submit("a", row(1));
    engine.step();
    engine.clock().advance(6 * MILLIS);
    Waiting held = Objects.requireNonNull(engine.lane("a").waiting());
    assertThat(held.reason()).isEqualTo("held");
    assertThat(held.words()).isEqualTo("held for its batch until 4 ms from now");
    assertThat(held.sinceNanos()).isEqualTo(6 * MILLIS);
    engine.clock().advance(held.inNanos() - 1);
    engine.step();
    assertThat(why(engine.state(), "a").reason()).isEqualTo("held");
    engine.clock().advance(1);
    assertThat(nextRuns(engine)).containsExactly("a");
  }

  @Test
  void shouldSayThatAStepWaitsForTheOneBefore() {
    TestEngine engine =
        new TestEngine(
            SimulatedDeviceOptions.instant(TestBundle.ADD).withExecutionNanos(program -> RUN),
            EngineOptions.builder().discipline(Fifo::new).build());
    engine.load(TestBundle.adding(1).write(repository, "sum"));
    for (int step = 0; step < 3; step++) {
      engine.submit(
          engine
              .request("sum", Floats.input("x", new long[] {1, 1}, 1))
              .options(
                  DEFAULT.withSequence(
                      new SequenceStep(SequenceStep.Id.of(7), step == 0, step == 2))));
    }
    engine.step();
    engine.step();
    Waiting steps = why(engine.state(), "sum");
    assertThat(steps.reason()).isEqualTo("earlier-step");
    assertThat(steps.words())
        .isEqualTo("2 requests wait for the steps of their sequences before them");
    engine.run();
    engine.assertQuiescent();
  }

  // --- the link

  @Test
  void shouldSayWhoseWeightsComeInWhichOrderAndHowLongThatTakes() {
    TestEngine engine = SmallDevice.engine(4L * BYTES + SCRATCH, 0, LINK);
    for (String name : List.of("a", "b", "c", "d", "e", "f", "g", "h")) {
      load(engine, name, 2, BYTES);
    }
    engine.run();
    for (String name : List.of("a", "b", "c", "d")) { // e to h are there
      engine.submit(name, row(1));
      engine.step();
    }
    DispatchState state = engine.state();
    Waiting first = why(state, "a");
    assertThat(first.reason()).isEqualTo("weights-coming");
    assertThat(first.place()).isEqualTo(1);
    assertThat(first.words())
        .matches("its weights are on their way, 1st on the link: .* of 1 MB are there, about .*");
    assertThat(why(state, "b").place()).isEqualTo(2);
    Waiting third = why(state, "c");
    assertThat(third.reason()).isEqualTo("link");
    assertThat(third.words()).matches("absent; 3rd on the link, behind 'b', about .* [mu]s");
    assertThat(third.inNanos()).isGreaterThan(why(state, "b").inNanos());
    assertThat(why(state, "d").place()).isEqualTo(4);
    assertThat(why(state, "d").behind()).isEqualTo("c");
    assertThat(nextRuns(engine)).containsExactly("a", "b", "c", "d");
    engine.assertNothingLeaks();
  }

  @Test
  void shouldSayThatThereIsNoRoomAndWhoHasIt() {
    TestEngine engine = SmallDevice.engine(2L * BYTES + SCRATCH, RUN, LINK);
    load(engine, "a", 2, BYTES);
    load(engine, "b", 3, BYTES);
    load(engine, "c", 5, BYTES);
    load(engine, "d", 7, BYTES);
    var pinned = engine.engine().admin().setResidency("a", Residency.PINNED_DEVICE);
    engine.run();
    assertThat(pinned).isCompleted();
    engine.submit("b", row(1));
    engine.run();
    engine.submit("b", row(1));
    engine.submit("c", row(1));
    engine.submit("d", row(1));
    engine.step();
    engine.step();
    DispatchState state = engine.state();
    assertThat(why(state, "c").reason()).isEqualTo("no-room");
    assertThat(why(state, "c").words())
        .isEqualTo(
            "no room for its 1 MB of weights: of the 2.1 MB for weights on the device, 2.1 MB are taken, by pinned models (1 MB), by those that run or whose requests wait, and 0 bytes are on their way");
    assertThat(why(state, "d").place()).isEqualTo(2);
    assertThat(why(state, "d").words()).isEqualTo("absent; 2nd on the link, behind 'c'");
    engine.run();
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  // --- what is said comes true

  static Stream<Supplier<Discipline>> disciplines() {
    return Stream.of(
        Fifo::new,
        EarliestDeadline::new,
        VirtualTime::new,
        () -> new FairShare(30_000 * MILLIS, 0.25));
  }

  @ParameterizedTest
  @MethodSource("disciplines")
  void shouldNameTheModelThatRunsNext(Supplier<Discipline> discipline) {
    Random random = new Random(29);
    TestEngine engine = engine(discipline, program -> (1 + program.length() % 3) * MILLIS);
    List<String> names = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      names.add("m".repeat(i + 1));
      engine.load(TestBundle.doubling(2, 1, 4).write(repository, names.getLast()), 1 + i % 3);
    }
    int told = 0;
    for (int round = 0; round < 200; round++) {
      for (int i = random.nextInt(4); i >= 0; i--) {
        engine.submit(
            names.get(random.nextInt(names.size())),
            engine.clock().nanoTime() + (50 + random.nextInt(50)) * 1_000L * MILLIS,
            List.of(),
            row(1));
      }
      List<String> runs = new ArrayList<>();
      engine.hook((call, of) -> runs.addAll(call == Call.EXECUTE ? List.of(model(of)) : List.of()));
      String first = first(engine.state());
      int turns = 0;
      while (first != null && runs.isEmpty() && turns++ < 1_000) {
        engine.stepOrWait();
      }
      if (first != null) {
        told++;
        assertThat(runs).as("round %d", round).startsWith(first);
      }
    }
    assertThat(told).isGreaterThan(100);
    engine.run();
    engine.assertQuiescent();
  }

  @Test
  void shouldGoOnWhenADisciplineCannotTellItsOrder() {
    TestEngine engine =
        engine(
            () ->
                new ForwardingDiscipline(new Fifo()) {
                  @Override
                  public int[] order() {
                    throw new IllegalStateException("no order");
                  }
                },
            program -> RUN);
    engine.load(TestBundle.doubling(2, 1).write(repository, "a"));
    engine.submit("a", row(1));
    assertThatThrownBy(engine::state).hasRootCauseMessage("no order");
    engine.run();
    engine.assertQuiescent();
  }

  @Test
  void shouldSayLessWhereADisciplineTellsItsFirstOnly() {
    TestEngine engine =
        engine(
            () ->
                new ForwardingDiscipline(new Fifo()) {
                  @Override
                  public int[] order() {
                    return isEmpty() ? new int[0] : new int[] {choose()};
                  }
                },
            program -> RUN);
    for (String name : List.of("a", "b")) {
      engine.load(TestBundle.doubling(2, 1).write(repository, name));
    }
    engine.submit("a", row(1));
    engine.submit("b", row(1));
    DispatchState state = engine.state();
    assertThat(why(state, "a").words()).isEqualTo("runs next; the device is free");
    assertThat(why(state, "b").place()).isZero();
    assertThat(why(state, "b").words()).isEqualTo("waits for its turn by fifo; the device is free");
    engine.run();
  }

  // ---

  /** An engine on which the first of these models runs. */
  private TestEngine busy(String... names) {
    TestEngine engine = engine(Fifo::new, program -> RUN);
    for (String name : names) {
      engine.load(TestBundle.doubling(2, 1).write(repository, name));
    }
    engine.submit(names[0], row(1));
    engine.step();
    assertThat(engine.state().running()).isEqualTo(names[0]);
    return engine;
  }

  private static TestEngine engine(Supplier<Discipline> discipline, ToLongFunction<String> nanos) {
    return new TestEngine(
        SimulatedDeviceOptions.instant(TestBundle.DOUBLE)
            .withExecutionNanos(program -> nanos.applyAsLong(model(program))),
        EngineOptions.builder().discipline(discipline).maxHandOver(4096).build());
  }

  private static void armNext(TestEngine engine) {
    engine.step();
    engine.clock().sleepUntil(engine.nextMomentNanos());
    engine.step();
  }

  /** The models that run from now on, in order, until nothing is left. */
  private static List<String> nextRuns(TestEngine engine) {
    List<String> runs = new ArrayList<>();
    engine.hook((call, of) -> runs.addAll(call == Call.EXECUTE ? List.of(model(of)) : List.of()));
    engine.run();
    return runs;
  }

  /** Programs are called by their models' names and what follows. */
  private static String model(String program) {
    return program.split("[^a-z]", 2)[0];
  }

  private static @Nullable String first(DispatchState state) {
    Optional<LaneState> first =
        state.models().stream()
            .filter(lane -> lane.waiting() != null && lane.waiting().place() == 1)
            .findFirst();
    return first.map(LaneState::model).orElse(null);
  }

  private static LaneState lane(DispatchState state, String model) {
    return state.models().stream()
        .filter(lane -> lane.model().equals(model))
        .findFirst()
        .orElseThrow();
  }

  private static Waiting why(DispatchState state, String model) {
    return Objects.requireNonNull(lane(state, model).waiting());
  }
}

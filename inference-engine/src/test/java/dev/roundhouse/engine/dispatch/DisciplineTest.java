package dev.roundhouse.engine.dispatch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.engine.schedule.EarliestDeadline;
import dev.roundhouse.engine.schedule.FairShare;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.schedule.ForwardingDiscipline;
import dev.roundhouse.engine.schedule.VirtualTime;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestEngine;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The disciplines at work in the loop, on a device that takes 50 ms for one model and 1 ms for the
 * other.
 */
class DisciplineTest {
  private static final long MILLIS = 1_000_000;

  @TempDir Path repository;

  static Stream<Discipline> fairOnes() {
    return Stream.of(new FairShare(30_000 * MILLIS, 0.25), new VirtualTime());
  }

  @ParameterizedTest
  @MethodSource("fairOnes")
  void shouldShareTheDeviceThreeToOneWhenWeightsAreAndBothAreSaturated(Discipline discipline) {
    TestEngine engine = engine(discipline, 3, 1);
    while (engine.clock().nanoTime() < 120_000 * MILLIS) {
      keepBusy(engine, "dear");
      keepBusy(engine, "cheap");
      engine.step();
      engine.clock().advance(MILLIS / 4);
    }
    double dear = engine.counters("dear").get(Metric.COMPUTE);
    double cheap = engine.counters("cheap").get(Metric.COMPUTE);
    assertThat(dear / (dear + cheap)).as(discipline.name()).isCloseTo(0.75, within(0.015));
  }

  @ParameterizedTest
  @MethodSource("fairOnes")
  void shouldNotLetADearModelHoldUpACheapOneForMoreThanOneRun(Discipline discipline) {
    TestEngine engine = engine(discipline, 1, 1);
    List<Submission> cheap = new ArrayList<>();
    long nextCheap = 0;
    while (engine.clock().nanoTime() < 60_000 * MILLIS) {
      keepBusy(engine, "dear");
      if (engine.clock().nanoTime() >= nextCheap) {
        cheap.add(engine.submit("cheap", row()));
        nextCheap = engine.clock().nanoTime() + 20 * MILLIS;
      }
      engine.step();
      engine.clock().advance(MILLIS / 4);
    }
    engine.run();
    // Alone it takes 1 ms and a step of this clock; with the other at most one run of that besides,
    // and what of its own queued up during that run.
    long worst =
        cheap.stream()
            .map(engine::completed)
            .mapToLong(done -> done.timings().queueNanos() + done.timings().computeNanos())
            .sorted()
            .skip(cheap.size() * 99L / 100)
            .findFirst()
            .orElseThrow();
    assertThat(worst).as(discipline.name()).isLessThanOrEqualTo((50 + 3 + 1) * MILLIS);
  }

  @Test
  void shouldRunTheModelWithTheEarliestDeadlineFirst() {
    TestEngine engine = engine(new EarliestDeadline(), 1, 1);
    long now = engine.clock().nanoTime();
    Submission blocking = engine.submit("cheap", row());
    engine.step();
    Submission relaxed = engine.submit("cheap", now + 900 * MILLIS, List.of(), row());
    Submission urgent = engine.submit("dear", now + 200 * MILLIS, List.of(), row());
    engine.run();
    assertThat(engine.finished()).containsExactly(blocking, urgent, relaxed);
  }

  @Test
  void shouldLookAtEveryRequestOfAQueueForTheEarliestDeadline() {
    TestEngine engine = engine(new EarliestDeadline(), 1, 1);
    long now = engine.clock().nanoTime();
    Submission blocking = engine.submit("cheap", row());
    engine.step();
    Submission dear = engine.submit("dear", now + 500 * MILLIS, List.of(), row());
    Submission front = engine.submit("cheap", row());
    Submission urgent = engine.submit("cheap", now + 100 * MILLIS, List.of(), row());
    engine.run();
    assertThat(engine.finished()).containsExactly(blocking, front, urgent, dear);
  }

  @Test
  void shouldForgetTheDeadlineOfACancelledRequest() {
    TestEngine engine = engine(new EarliestDeadline(), 1, 1);
    long now = engine.clock().nanoTime();
    Submission blocking = engine.submit("cheap", row());
    engine.step();
    Submission dear = engine.submit("dear", now + 500 * MILLIS, List.of(), row());
    Submission later = engine.submit("cheap", now + 900 * MILLIS, List.of(), row());
    Submission cancelled = engine.submit("cheap", now + 100 * MILLIS, List.of(), row());
    engine.cancel(cancelled);
    Submission last = engine.submit("cheap", now + 950 * MILLIS, List.of(), row());
    engine.run();
    assertThat(engine.finished()).containsExactly(cancelled, blocking, dear, later, last);
  }

  @Test
  void shouldDropARequestThatARunCouldNoLongerAnswerInTime() {
    TestEngine engine = engine(new EarliestDeadline(), 1, 1);
    Submission hopeless =
        engine.submit("dear", engine.clock().nanoTime() + 51 * MILLIS, List.of(), row());
    Submission possible =
        engine.submit("dear", engine.clock().nanoTime() + 60 * MILLIS, List.of(), row());
    engine.clock().advance(2 * MILLIS);
    engine.run();
    assertThat(engine.outcome(hopeless)).isInstanceOf(Outcome.Shed.class);
    Outcome.Shed shed = (Outcome.Shed) engine.outcome(hopeless);
    assertThat(shed.status()).isEqualTo(Status.DEADLINE_EXCEEDED);
    assertThat(shed.message()).contains("too little time left for a run", "'dear'");
    assertThat(engine.completed(possible).timings().computeNanos()).isEqualTo(50 * MILLIS);
    engine.assertQuiescent();
  }

  @Test
  void shouldRunNoRowForAnAnswerThatWouldComeTooLate() {
    // A run of 4 takes 40 ms, one of 1 takes 10.
    TestEngine engine = batching();
    long now = engine.clock().nanoTime();
    Submission blocking = engine.submit("model", row());
    engine.step();
    List<Submission> tight = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      tight.add(engine.submit("model", now + 45 * MILLIS, List.of(), row()));
    }
    List<Submission> patient = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      patient.add(engine.submit("model", now + 500 * MILLIS, List.of(), row()));
    }
    engine.run();
    assertThat(engine.outcome(blocking)).isInstanceOf(Outcome.Completed.class);
    // Runs of 1 end in time for three of them; the fourth would be late whatever ran.
    assertThat(tight.subList(0, 3))
        .allMatch(each -> engine.outcome(each) instanceof Outcome.Completed);
    assertThat(engine.outcome(tight.get(3))).isInstanceOf(Outcome.Shed.class);
    for (Submission each : patient) {
      assertThat(engine.completed(each).timings().batchRows()).isEqualTo(4);
    }
    assertThat(engine.counters("model").get(Metric.PADDING_ROWS)).isZero();
  }

  @Test
  void shouldRunASmallerProgramWhenOnlyThatIsStillInTime() {
    TestEngine engine = batching();
    long now = engine.clock().nanoTime();
    List<Submission> tight = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      tight.add(engine.submit("model", now + 25 * MILLIS, List.of(), row()));
    }
    engine.run();
    // Two runs of one row are over in time, a third would not be.
    assertThat(engine.outcome(tight.get(0))).isInstanceOf(Outcome.Completed.class);
    assertThat(engine.outcome(tight.get(1))).isInstanceOf(Outcome.Completed.class);
    assertThat(engine.outcome(tight.get(2))).isInstanceOf(Outcome.Shed.class);
    assertThat(engine.outcome(tight.get(3))).isInstanceOf(Outcome.Shed.class);
    engine.assertQuiescent();
  }

  @Test
  void shouldNotDropARequestForTheSakeOfTheLargerOneBeforeIt() {
    TestEngine engine = batching();
    Submission large = engine.submit("model", Floats.input("x", new long[] {3, 2}, new float[6]));
    Submission tight =
        engine.submit("model", engine.clock().nanoTime() + 25 * MILLIS, List.of(), row());
    engine.run();
    // The run of 4 that the first needs is too slow for the other, whom no smaller one can serve
    // before it: they go together, as its row costs nothing.
    assertThat(engine.completed(large).timings().batchRows()).isEqualTo(4);
    assertThat(engine.completed(tight).timings().batchRows()).isEqualTo(4);
  }

  private TestEngine batching() {
    TestEngine engine =
        new TestEngine(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE)
                .withExecutionNanos(name -> name.contains(".b4.") ? 40 * MILLIS : 10 * MILLIS),
            64,
            new Fifo());
    engine.load(TestBundle.doubling(2, 1, 4).write(repository, "model"));
    return engine;
  }

  @Test
  void shouldServeAgainWhenTheFigureThatRequestsWereDroppedForWasAnAccident() {
    long[] cost = {900 * MILLIS};
    TestEngine engine =
        new TestEngine(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE).withExecutionNanos(name -> cost[0]),
            64,
            new EarliestDeadline());
    engine.load(TestBundle.doubling(2, 1).write(repository, "model"));
    cost[0] = MILLIS; // the warm-up was slow, runs are not
    int dropped = 0;
    Submission last;
    do {
      last = engine.submit("model", engine.clock().nanoTime() + 100 * MILLIS, List.of(), row());
      engine.run();
      engine.clock().advance(500 * MILLIS);
      dropped++;
    } while (!(engine.outcome(last) instanceof Outcome.Completed) && dropped < 50);
    assertThat(engine.outcome(last)).isInstanceOf(Outcome.Completed.class);
    assertThat(dropped).as("until the figure expires").isLessThan(30);
  }

  @Test
  void shouldNotKeepAShareForAModelThatDoesNotRun() {
    List<Integer> registered = new ArrayList<>();
    Discipline watching =
        new ForwardingDiscipline(new Fifo()) {
          @Override
          public void register(int slot, double weight) {
            registered.add(slot);
            super.register(slot, weight);
          }

          @Override
          public void unregister(int slot) {
            registered.remove((Integer) slot);
            super.unregister(slot);
          }
        };
    TestEngine engine =
        new TestEngine(
            SimulatedDeviceOptions.instant(
                (program, arguments, results) -> {
                  if (program.name().startsWith("broken")) {
                    throw new DeviceException(DeviceException.Code.INTERNAL, "no such kernel");
                  }
                }),
            64,
            watching);
    engine.load(TestBundle.doubling(2, 1).write(repository, "broken"));
    engine.load(TestBundle.doubling(2, 1).write(repository, "sound"));
    assertThat(registered).hasSize(1);
    engine.assertNothingLeaks();
  }

  private TestEngine engine(Discipline discipline, double dearWeight, double cheapWeight) {
    TestEngine engine =
        new TestEngine(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE)
                .withExecutionNanos(name -> name.startsWith("dear") ? 50 * MILLIS : MILLIS),
            64,
            discipline);
    engine.load(TestBundle.doubling(2, 1).write(repository, "dear"), dearWeight);
    engine.load(TestBundle.doubling(2, 1).write(repository, "cheap"), cheapWeight);
    return engine;
  }

  private static void keepBusy(TestEngine engine, String model) {
    while (engine.counters(model).waiting() < 3) {
      engine.submit(model, row());
    }
  }

  private static InputTensor row() {
    return Floats.input("x", new long[] {1, 2}, 1, 2);
  }
}

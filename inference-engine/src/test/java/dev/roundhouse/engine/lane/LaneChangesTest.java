package dev.roundhouse.engine.lane;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.SteppedEngine;
import dev.roundhouse.engine.device.ReferenceFunction;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.model.ModelImage;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.ShedReason;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.engine.schedule.EarliestDeadline;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.schedule.ForwardingDiscipline;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.ReplySink;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestEngine;
import dev.roundhouse.engine.testing.TestImage;
import dev.roundhouse.engine.time.ManualClock;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Lanes find their place again when something changes while another model, "r", runs. */
class LaneChangesTest {
  private static final long RUN = 1_000_000;
  private static final long DELAY = 10 * RUN;

  /** How long before the expected end of a run the next batch is armed. */
  private static final long AHEAD = 100_000;

  @TempDir Path repository;

  private final AtomicLong runNanos = new AtomicLong(RUN);

  // --- ready

  @Test
  void shouldRankALaneAgainWhenAMoreUrgentRequestJoinsItsQueue() {
    TestEngine engine = engine(EarliestDeadline::new, 0);
    load(engine, "a", 1);
    load(engine, "b", 1);
    Submission running = submit(engine, "r");
    engine.step();
    Submission patient = submit(engine, "a");
    Submission relaxed = submit(engine, "b", 500 * RUN);
    arm(engine, "b");
    Submission urgent = submit(engine, "a", 100 * RUN);
    engine.run();
    assertThat(engine.finished()).containsExactly(running, patient, urgent, relaxed);
  }

  @Test
  void shouldNotCountACancelledFrontWhenALaneIsRanked() {
    TestEngine engine = engine(Fifo::new, 0);
    load(engine, "a", 1);
    load(engine, "b", 1);
    submit(engine, "r");
    engine.step();
    List<Submission> waiting = new ArrayList<>();
    for (String model : List.of("a", "b", "a")) {
      engine.clock().advance(10);
      waiting.add(submit(engine, model));
    }
    engine.step();
    engine.cancel(waiting.getFirst());
    arm(engine, "b");
    assertThat(engine.engine().reports().details("a").orElseThrow().oldestWaitNanos())
        .as("since the second of its requests came")
        .isEqualTo(RUN - AHEAD / 2);
    engine.run();
    engine.assertQuiescent();
  }

  @Test
  void shouldTellTheDisciplineWhatARunTook() {
    List<Correction> corrections = new ArrayList<>();
    TestEngine engine = engine(() -> new Recording(corrections), 0);
    corrections.clear();
    runNanos.set(3 * RUN);
    long start = engine.clock().nanoTime();
    submit(engine, "r");
    engine.run();
    assertThat(corrections).containsExactly(new Correction(RUN, 3 * RUN, start + 3 * RUN));
  }

  @Test
  void shouldTellTheDisciplineWhatARowCostsOfAModelWhoseRequestsRunAlone() {
    List<Double> told = new ArrayList<>();
    TestEngine engine = engine(() -> new Watching(told), 0);
    load(engine, alone("alone"));
    submit(engine, "r");
    engine.step();
    for (int i = 0; i < 4; i++) {
      submit(engine, "alone");
    }
    told.clear();
    arm(engine, "alone");
    assertThat(told).containsOnly((double) RUN);
    engine.run();
  }

  // --- too late

  @Test
  void shouldDropARequestWhoseAnswerWouldComeJustAtItsDeadline() {
    TestEngine engine = engine(Fifo::new, 0);
    Submission running = submit(engine, "r");
    engine.step();
    Submission late = submit(engine, "r", 2 * RUN);
    Submission inTime = submit(engine, "r", 2 * RUN + 1);
    engine.run();
    engine.completed(running);
    assertThat(shed(engine, late)).isEqualTo(ShedReason.TOO_LITTLE_TIME);
    engine.completed(inTime);
  }

  @Test
  void shouldDropARequestAtItsDeadlineUnderADisciplineThatDoesNotLookAtCosts() {
    TestEngine engine = engine(Heedless::new, 0);
    runNanos.set(3 * RUN);
    Submission running = submit(engine, "r");
    engine.step();
    Submission late = submit(engine, "r", 3 * RUN);
    Submission begins = submit(engine, "r", 3 * RUN + 1);
    engine.run();
    engine.completed(running);
    assertThat(shed(engine, late)).isEqualTo(ShedReason.DEADLINE_PASSED);
    engine.completed(begins);
  }

  // --- held

  @Test
  void shouldForgetAHeldBatchWhenAllOfItIsCancelledWhileAnotherModelRuns() {
    TestEngine engine = engine(Fifo::new, DELAY);
    load(engine, "h", 4);
    Submission held = submit(engine, "h");
    engine.step();
    long due = engine.nextMomentNanos();
    submit(engine, "r");
    engine.step();
    Submission joined = submit(engine, "h");
    engine.step();
    engine.cancel(held);
    engine.cancel(joined);
    engine.clock().advance(RUN - AHEAD / 2);
    engine.step();
    assertThat(engine.lane("h").held()).isFalse();
    engine.run();
    engine.clock().sleepUntil(due);
    engine.step();
    engine.assertQuiescent();
  }

  @Test
  void shouldHoldABatchNoLongerThatIsFullAndWaitsForTheDevice() {
    TestEngine engine = engine(Fifo::new, DELAY);
    load(engine, "h", 4);
    load(engine, "k", 4);
    submit(engine, "h");
    submit(engine, "k");
    engine.step();
    assertThat(engine.lane("k").held()).isTrue();
    submit(engine, "r");
    engine.step();
    for (int i = 0; i < 3; i++) {
      submit(engine, "h");
      submit(engine, "k");
    }
    arm(engine, "h");
    assertThat(engine.lane("k").held()).isFalse();
    engine.run();
    engine.assertQuiescent();
  }

  @Test
  void shouldHoldABatchAgainThatWasFullUntilSomeOfItWereCancelled() {
    TestEngine engine = engine(Fifo::new, DELAY);
    load(engine, "h", 4);
    submit(engine, "r");
    engine.step();
    Submission next = submit(engine, "r");
    engine.clock().advance(1);
    Submission stays = submit(engine, "h");
    List<Submission> leave = List.of(submit(engine, "h"), submit(engine, "h"), submit(engine, "h"));
    arm(engine, "r");
    leave.forEach(engine::cancel);
    Submission joins = submit(engine, "h");
    engine.run();
    engine.completed(next);
    assertThat(engine.completed(stays).timings().queueNanos()).isEqualTo(DELAY);
    assertThat(engine.completed(joins).timings().batchRows()).isEqualTo(2);
    engine.assertQuiescent();
  }

  @Test
  void shouldChooseAHeldBatchThatFallsDueAtTheMomentALongerRunEnds() {
    long longer = RUN + 1_000;
    TestEngine engine = engine(Fifo::new, longer);
    load(engine, "a", 1);
    load(engine, "h", 4);
    runNanos.set(longer);
    Submission running = submit(engine, "r");
    Submission held = submit(engine, "h");
    engine.step();
    engine.clock().advance(1);
    Submission armed = submit(engine, "a");
    arm(engine, "a");
    engine.run();
    assertThat(engine.finished()).containsExactly(running, held, armed);
  }

  @Test
  void shouldNotHoldABatchOfAModelWhoseRequestsRunAlone() {
    TestEngine engine = engine(Fifo::new, DELAY);
    load(engine, alone("alone"));
    Submission request = submit(engine, "alone");
    engine.run();
    assertThat(engine.completed(request).timings().queueNanos()).isZero();
  }

  /** As the system's clock may. */
  @Test
  void shouldRunAtOnceWhatIsNotHeldWhenTheClockShowsLessThanZero() {
    ManualClock clock = new ManualClock(-1_000 * DELAY);
    SimulatedDevice device =
        new SimulatedDevice(SimulatedDeviceOptions.instant(TestBundle.DOUBLE), clock);
    EngineOptions options =
        EngineOptions.builder()
            .discipline(Fifo::new)
            .maxQueueDelay(Duration.ofNanos(DELAY))
            .clock(clock)
            .build();
    try (SteppedEngine stepped = SteppedEngine.open(options, device)) {
      stepped.engine().admin().load(TestBundle.doubling(2, 4).write(repository, "h")).join();
      ReplySink full = new ReplySink();
      stepped.engine().submit(InferenceRequest.of("h", List.of(rows(4)), full).build());
      stepped.step();
      stepped.step();
      assertThat(full.reply()).as("a full batch").isDone();
      ReplySink large = new ReplySink();
      stepped.engine().submit(InferenceRequest.of("h", List.of(rows(5)), large).build());
      for (int turn = 0; turn < 4; turn++) {
        stepped.step();
      }
      assertThat(large.reply()).as("the rest of a request that has begun").isDone();
    }
    device.close();
  }

  @Test
  void shouldSayWhichVersionAnswered() {
    TestEngine engine = engine(Fifo::new, 0);
    load(engine, TestImage.weighted("m", "7", () -> {}));
    Submission request = submit(engine, "m");
    engine.run();
    assertThat(engine.completed(request).modelVersion()).isEqualTo("7");
    assertThat(engine.lane("m").version()).isEqualTo("7");
  }

  /** With a model "r" that runs requests of one row. */
  private TestEngine engine(Supplier<Discipline> discipline, long maxQueueDelayNanos) {
    ReferenceFunction function =
        (program, arguments, results) -> {
          if (results.size() == 1) {
            TestBundle.DOUBLE.apply(program, arguments, results);
          }
        };
    TestEngine engine =
        new TestEngine(
            SimulatedDeviceOptions.instant(function).withExecutionNanos(name -> runNanos.get()),
            EngineOptions.builder()
                .discipline(discipline)
                .maxQueueDelay(Duration.ofNanos(maxQueueDelayNanos))
                .build());
    load(engine, "r", 1);
    return engine;
  }

  private void load(TestEngine engine, String model, int batchSize) {
    engine.load(TestBundle.doubling(2, batchSize).write(repository, model));
  }

  private static void load(TestEngine engine, ModelImage image) {
    assertThat(engine.engine().admin().load(image).join().state()).isEqualTo(ModelState.READY);
  }

  /** A model that has programs for one row and for four, and an output without a batch axis. */
  private static ModelImage alone(String name) {
    TensorSpec x = TestImage.tensor("x", Axis.BATCH, new Axis.Fixed(2));
    TensorSpec y = TestImage.tensor("y", Axis.BATCH);
    TensorSpec total = TestImage.tensor("total", new Axis.Fixed(3));
    return TestImage.of(name, List.of(x), List.of(y, total), List.of(), 1, 4);
  }

  /** Lets time pass until the next batch is armed, of that model. */
  private static void arm(TestEngine engine, String model) {
    engine.clock().advance(RUN - AHEAD / 2);
    engine.step();
    assertThat(engine.state().armed()).isEqualTo(model);
  }

  private static Submission submit(TestEngine engine, String model) {
    return engine.submit(model, rows(1));
  }

  private static Submission submit(TestEngine engine, String model, long timeoutNanos) {
    return engine.submit(model, engine.clock().nanoTime() + timeoutNanos, List.of(), rows(1));
  }

  private static InputTensor rows(int rows) {
    return Floats.input("x", new long[] {rows, 2}, new float[2 * rows]);
  }

  private static ShedReason shed(TestEngine engine, Submission request) {
    return ((Outcome.Shed) engine.outcome(request)).reason();
  }

  private record Correction(long expectedNanos, long deviceNanos, long endedNanos) {}

  private static final class Recording extends ForwardingDiscipline {
    private final List<Correction> corrections;

    Recording(List<Correction> corrections) {
      super(new Fifo());
      this.corrections = corrections;
    }

    @Override
    public void correct(int slot, long expectedNanos, long deviceNanos, long nowNanos) {
      corrections.add(new Correction(expectedNanos, deviceNanos, nowNanos));
      super.correct(slot, expectedNanos, deviceNanos, nowNanos);
    }
  }

  private static final class Watching extends ForwardingDiscipline {
    private final List<Double> rowCosts;

    Watching(List<Double> rowCosts) {
      super(new Fifo());
      this.rowCosts = rowCosts;
    }

    @Override
    public boolean watchesQueues() {
      return true;
    }

    @Override
    public void ready(int slot, Front front) {
      rowCosts.add(front.rowCostNanos());
      super.ready(slot, front);
    }
  }

  private static final class Heedless extends ForwardingDiscipline {
    Heedless() {
      super(new Fifo());
    }

    @Override
    public boolean shedsByCost() {
      return false;
    }
  }
}

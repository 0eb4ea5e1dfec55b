package dev.roundhouse.engine.batch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.ShedReason;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.engine.schedule.EarliestDeadline;
import dev.roundhouse.engine.schedule.ForwardingDiscipline;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestEngine;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How batches are made up and taken apart, in the loop. */
class BatchFormerTest {
  private static final long RUN = 1_000_000;

  /** Members that a slot has room for at first. */
  private static final int FULL = 16;

  @TempDir Path repository;

  @Test
  void shouldRunAnArmedBatchThatFillsItsSlot() {
    TestEngine engine = engine(EarliestDeadline::new, name -> RUN);
    List<Submission> members = armFullBatch(engine);
    engine.run();
    for (Submission member : members) {
      assertThat(engine.completed(member).timings().batchRows()).isEqualTo(FULL);
      assertThat(engine.completed(member).timings().computeOutputNanos())
          .as("the clock stands still between runs")
          .isZero();
    }
    engine.assertQuiescent();
  }

  @Test
  void shouldPutABatchBackThatFillsItsSlot() {
    TestEngine engine = engine(EarliestDeadline::new, name -> RUN);
    List<Submission> members = armFullBatch(engine);
    Submission urgent = submit(engine, "single", 50 * RUN);
    engine.run();
    List<Submission> expected = new ArrayList<>(List.of(engine.finished().getFirst(), urgent));
    expected.addAll(members);
    assertThat(engine.finished()).containsExactlyElementsOf(expected);
    engine.assertQuiescent();
  }

  /** Another model runs between two pieces, and nothing of the request is on the device. */
  @Test
  void shouldEndACancelledRequestWhoseNextPieceWaits() {
    TestEngine engine = engine(EarliestDeadline::new, name -> RUN);
    Submission large = engine.submit("full", rows(2 * FULL));
    engine.step();
    Submission urgent = submit(engine, "single", 50 * RUN);
    engine.clock().advance(RUN);
    engine.step();
    assertThat(engine.cancel(large)).isTrue();
    long before = engine.device().executions();
    engine.run();
    assertThat(engine.outcome(large)).isInstanceOf(Outcome.Cancelled.class);
    engine.completed(urgent);
    assertThat(engine.device().executions()).as("no run for the rest").isEqualTo(before);
    engine.assertQuiescent();
  }

  /** Its caller saw it in a batch, and leaves its end to the loop. */
  @Test
  void shouldEndARequestAtOnceThatIsCancelledWhileItsBatchIsTakenApart() {
    Runnable[] onCorrection = {() -> {}};
    TestEngine engine = engine(() -> new Interrupted(onCorrection), name -> RUN);
    Submission running = engine.submit("single", rows(1));
    engine.step();
    Submission cancelled = engine.submit("full", rows(1));
    arm(engine);
    Submission urgent = submit(engine, "single", 50 * RUN);
    onCorrection[0] = () -> engine.cancel(cancelled);
    engine.run();
    assertThat(engine.outcome(cancelled)).isInstanceOf(Outcome.Cancelled.class);
    assertThat(engine.finished()).containsExactly(cancelled, running, urgent);
    engine.assertQuiescent();
  }

  @Test
  void shouldRunALargerProgramWhenOnlyThatIsQuickEnough() {
    TestEngine engine =
        engine(EarliestDeadline::new, name -> name.contains(".b1.") ? 10 * RUN : 2 * RUN);
    engine.load(TestBundle.doubling(2, 1, 4).write(repository, "odd"));
    Submission request = submit(engine, "odd", 12 * RUN);
    engine.clock().advance(8 * RUN);
    engine.run();
    assertThat(engine.completed(request).timings().computeNanos()).isEqualTo(2 * RUN);
    engine.assertQuiescent();
  }

  /** To serve the first alone would take as long as three quarters of a run that serves four. */
  @Test
  void shouldNotMakeABatchSmallForAMemberWhenThatCostsOthersMore() {
    TestEngine engine =
        engine(EarliestDeadline::new, name -> name.contains(".b1.") ? 3 * RUN : 4 * RUN);
    engine.load(TestBundle.doubling(2, 1, 4).write(repository, "m"));
    Submission hurried = submit(engine, "m", 7 * RUN / 2);
    List<Submission> others = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      others.add(submit(engine, "m", 5 * RUN));
    }
    engine.run();
    assertThat(engine.outcome(hurried))
        .isInstanceOfSatisfying(
            Outcome.Shed.class,
            shed -> assertThat(shed.reason()).isEqualTo(ShedReason.TOO_LITTLE_TIME));
    assertThat(others)
        .allSatisfy(
            other -> assertThat(engine.completed(other).timings().batchRows()).isEqualTo(4));
    engine.assertQuiescent();
  }

  private TestEngine engine(Supplier<Discipline> discipline, ToLongFunction<String> runNanos) {
    TestEngine engine =
        new TestEngine(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE).withExecutionNanos(runNanos),
            EngineOptions.builder().discipline(discipline).build());
    engine.load(TestBundle.doubling(2, FULL).write(repository, "full"));
    engine.load(TestBundle.doubling(2, 1).write(repository, "single"));
    return engine;
  }

  /** One request runs, and as many as a slot has room for are armed. */
  private static List<Submission> armFullBatch(TestEngine engine) {
    engine.submit("single", rows(1));
    engine.step();
    List<Submission> members = new ArrayList<>();
    for (int i = 0; i < FULL; i++) {
      members.add(engine.submit("full", rows(1)));
    }
    arm(engine);
    return members;
  }

  private static void arm(TestEngine engine) {
    engine.clock().advance(RUN - 50_000);
    engine.step();
    assertThat(engine.state().armed()).isEqualTo("full");
  }

  private static Submission submit(TestEngine engine, String model, long timeoutNanos) {
    return engine.submit(model, engine.clock().nanoTime() + timeoutNanos, List.of(), rows(1));
  }

  private static InputTensor rows(int rows) {
    return Floats.input("x", new long[] {rows, 2}, new float[2 * rows]);
  }

  /** Has something happen whenever what a run took is told, or that it does not run. */
  private static final class Interrupted extends ForwardingDiscipline {
    private final Runnable[] onCorrection;

    Interrupted(Runnable[] onCorrection) {
      super(new EarliestDeadline());
      this.onCorrection = onCorrection;
    }

    @Override
    public void correct(int slot, long expectedNanos, long deviceNanos, long nowNanos) {
      super.correct(slot, expectedNanos, deviceNanos, nowNanos);
      onCorrection[0].run();
    }
  }
}

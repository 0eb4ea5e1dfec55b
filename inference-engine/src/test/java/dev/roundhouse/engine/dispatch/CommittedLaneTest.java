package dev.roundhouse.engine.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.queue.QueuedRequest;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.MetaRun;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.schedule.EarliestDeadline;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestEngine;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Fault F29: a meta that has begun waits for one execution at most. */
class CommittedLaneTest {
  private static final long RUN = 1_000_000;

  @TempDir Path repository;

  @Test
  void shouldRunAMetasCallBeforeEverythingThatWaits() {
    TestEngine engine = engine(64);
    Submission running = call(engine, "a", null);
    engine.step();
    Submission flood = call(engine, "a", null);
    Submission more = call(engine, "b", null);
    Submission committed = call(engine, "b", new MetaRun());
    engine.run();
    assertThat(engine.finished()).containsExactly(running, committed, flood, more);
    assertThat(engine.completed(committed).timings().queueNanos()).isEqualTo(RUN);
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  @Test
  void shouldLetOneCallOfARunAheadAtATime() {
    TestEngine engine = engine(64);
    MetaRun run = new MetaRun();
    Submission running = call(engine, "a", null);
    engine.step();
    Submission flood = call(engine, "a", null);
    Submission first = call(engine, "b", run);
    Submission second = call(engine, "b", run);
    assertThat(isCommitted(first)).isTrue();
    assertThat(isCommitted(second)).isFalse();
    engine.run();
    assertThat(engine.finished()).containsExactly(running, first, flood, second);
    Submission third = call(engine, "b", run);
    assertThat(isCommitted(third)).as("the place is free again").isTrue();
    engine.run();
    engine.assertQuiescent();
  }

  @Test
  void shouldKeepTheOrderOfTwoRunsThatCallTheSameModel() {
    TestEngine engine = engine(64);
    Submission running = call(engine, "a", null);
    engine.step();
    Submission flood = call(engine, "b", null);
    Submission one = call(engine, "b", new MetaRun());
    Submission two = call(engine, "b", new MetaRun());
    engine.run();
    assertThat(engine.finished()).containsExactly(running, one, two, flood);
  }

  @Test
  void shouldNotHoldWhatAMetaCalls() {
    EngineOptions options = EngineOptions.builder().maxQueueDelay(Duration.ofMillis(50)).build();
    TestEngine engine = new TestEngine(SimulatedDeviceOptions.instant(TestBundle.DOUBLE), options);
    engine.load(TestBundle.doubling(2, 1, 8).write(repository, "a"));
    Submission held = call(engine, "a", null);
    engine.step();
    Submission committed = call(engine, "a", new MetaRun());
    engine.step();
    engine.step();
    assertThat(engine.completed(committed).timings().queueNanos()).isZero();
    engine.run();
    assertThat(engine.outcome(held)).isInstanceOf(Outcome.Completed.class);
    engine.assertQuiescent();
  }

  @Test
  void shouldAdmitAMetasCallWhenItsModelsQueueIsFull() {
    TestEngine engine = engine(2);
    call(engine, "a", null);
    call(engine, "a", null);
    assertThat(engine.outcome(call(engine, "a", null))).isInstanceOf(Outcome.Refused.class);
    Submission committed = call(engine, "a", new MetaRun());
    engine.run();
    assertThat(engine.outcome(committed)).isInstanceOf(Outcome.Completed.class);
    engine.assertQuiescent();
  }

  @Test
  void shouldExemptAMetasCallFromTheMarginOfCostButNotFromItsDeadline() {
    TestEngine engine =
        new TestEngine(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE).withExecutionNanos(p -> RUN),
            EngineOptions.builder().discipline(EarliestDeadline::new).build());
    engine.load(TestBundle.doubling(2, 1).write(repository, "a"));
    Submission tight = call(engine, "a", new MetaRun(), RUN / 2);
    engine.run();
    assertThat(engine.outcome(tight)).isInstanceOf(Outcome.Completed.class);
    Submission late = call(engine, "a", new MetaRun(), RUN / 2);
    engine.clock().advance(RUN);
    engine.run();
    assertThat(engine.outcome(late)).isInstanceOf(Outcome.Shed.class);
    engine.assertQuiescent();
  }

  @Test
  void shouldFreeTheRunsPlaceWhenItsCallIsCancelled() {
    TestEngine engine = engine(64);
    MetaRun run = new MetaRun();
    Submission running = call(engine, "a", null);
    engine.step();
    Submission cancelled = call(engine, "b", run);
    engine.cancel(cancelled);
    Submission next = call(engine, "b", run);
    assertThat(isCommitted(next)).isTrue();
    engine.run();
    assertThat(engine.finished()).containsExactly(cancelled, running, next);
    engine.assertQuiescent();
  }

  private TestEngine engine(int maxQueueDepth) {
    TestEngine engine =
        new TestEngine(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE).withExecutionNanos(p -> RUN),
            maxQueueDepth);
    engine.load(TestBundle.doubling(2, 1).write(repository, "a"));
    engine.load(TestBundle.doubling(2, 1).write(repository, "b"));
    return engine;
  }

  private static Submission call(TestEngine engine, String model, @Nullable MetaRun run) {
    return call(engine, model, run, 0);
  }

  /**
   * @param timeoutNanos 0 for none
   */
  private static Submission call(
      TestEngine engine, String model, @Nullable MetaRun run, long timeoutNanos) {
    long deadline =
        timeoutNanos == 0 ? InferenceRequest.NO_DEADLINE : engine.clock().nanoTime() + timeoutNanos;
    return engine.submitFor(run, model, deadline, Floats.input("x", new long[] {1, 2}, 1, 2));
  }

  private static boolean isCommitted(Submission call) {
    return ((QueuedRequest) call).isCommitted();
  }
}

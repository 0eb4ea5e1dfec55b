package dev.roundhouse.engine.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestEngine;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Fault F16: cancel at every stage. */
class CancellationTest {
  private static final long RUN = 1_000_000;

  @TempDir Path repository;

  @Test
  void shouldFreeAThousandPlacesAtOnceWhenAThousandWaitingRequestsAreCancelled() {
    TestEngine engine = new TestEngine(SimulatedDeviceOptions.instant(TestBundle.DOUBLE), 1_000);
    engine.load(TestBundle.doubling(2, 1, 4).write(repository, "double"));
    List<Submission> waiting = submit(engine, 1_000);
    engine.step(); // the loop has them, and the first four run
    assertThat(engine.counters("double").waiting()).isEqualTo(996);
    waiting.addAll(submit(engine, 4));
    Submission oneTooMany = row(engine);
    assertThat(engine.outcome(oneTooMany)).isInstanceOf(Outcome.Refused.class);

    waiting.forEach(engine::cancel);

    assertThat(engine.counters("double").waiting()).isZero();
    engine.step(); // the four that ran are over too
    assertThat(engine.engine().heldBytes()).isZero();
    List<Submission> next = submit(engine, 1_000);
    engine.run();
    for (Submission request : next) {
      assertThat(engine.outcome(request)).isInstanceOf(Outcome.Completed.class);
    }
    assertThat(engine.counters("double").get(Metric.CANCELLED)).isEqualTo(1_004);
    assertThat(engine.engine().heldBytes()).isZero();
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  @Test
  void shouldNotHarmTheBatchMatesOfACancelledRequestThatRuns() {
    TestEngine engine = slowEngine();
    Submission kept = row(engine, 1);
    Submission cancelled = row(engine, 2);
    Submission alsoKept = row(engine, 3);
    engine.step();
    assertThat(engine.counters("double").waiting()).isZero();
    assertThat(engine.cancel(cancelled)).isTrue();
    assertThat(engine.isOver(cancelled)).as("its inputs may be in use").isFalse();
    engine.run();
    assertThat(engine.outcome(cancelled)).isInstanceOf(Outcome.Cancelled.class);
    assertThat(floats(engine, kept)).containsExactly(2, 2);
    assertThat(floats(engine, alsoKept)).containsExactly(6, 6);
    assertThat(engine.cancel(cancelled)).isFalse();
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  @Test
  void shouldNotRunABatchThatNobodyWantsAnyMore() {
    TestEngine engine = slowEngine();
    Submission[] own = new Submission[1];
    // Cancelled by its own caller while its input is being copied into the batch.
    TensorData cancelling =
        new TensorData() {
          @Override
          public long byteSize() {
            return 8;
          }

          @Override
          public void copyTo(long offset, MemorySegment target, long targetOffset, long length) {
            engine.cancel(own[0]);
          }
        };
    own[0] = engine.submit("double", new InputTensor("x", DType.F32, Shape.of(1, 2), cancelling));
    long before = engine.device().executions();
    engine.run();
    assertThat(engine.outcome(own[0])).isInstanceOf(Outcome.Cancelled.class);
    assertThat(engine.device().executions()).isEqualTo(before);
    assertThat(engine.engine().heldBytes()).isZero();
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  @Test
  void shouldStopALargeRequestBetweenItsPieces() {
    TestEngine engine = slowEngine();
    Submission large =
        engine.submit("double", Floats.input("x", new long[] {16, 2}, new float[32]));
    Submission next = row(engine, 5);
    long before = engine.device().executions();
    engine.step();
    assertThat(engine.cancel(large)).isTrue();
    engine.run();
    assertThat(engine.outcome(large)).isInstanceOf(Outcome.Cancelled.class);
    assertThat(floats(engine, next)).containsExactly(10, 10);
    assertThat(engine.device().executions() - before).as("one piece, and the next").isEqualTo(2);
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  private TestEngine slowEngine() {
    TestEngine engine =
        new TestEngine(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE).withExecutionNanos(p -> RUN), 64);
    engine.load(TestBundle.doubling(2, 4).write(repository, "double"));
    return engine;
  }

  private static List<Submission> submit(TestEngine engine, int count) {
    List<Submission> requests = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      requests.add(row(engine));
    }
    return requests;
  }

  private static Submission row(TestEngine engine) {
    return row(engine, 1);
  }

  private static Submission row(TestEngine engine, float value) {
    return engine.submit("double", Floats.input("x", new long[] {1, 2}, value, value));
  }

  private static float[] floats(TestEngine engine, Submission request) {
    return Floats.of(engine.completed(request).outputs().getFirst());
  }
}

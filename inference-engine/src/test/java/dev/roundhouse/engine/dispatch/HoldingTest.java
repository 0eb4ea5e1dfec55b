package dev.roundhouse.engine.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.ModelOptions;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestEngine;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HoldingTest {
  private static final long MILLIS = 1_000_000;

  @TempDir Path repository;

  @Test
  void shouldHoldAnUndersizedBatchForAsLongAsTheDelayAllows() {
    TestEngine engine = engine(10);
    Submission request = submit(engine, 1);
    engine.step();
    engine.clock().advance(10 * MILLIS - 1);
    engine.step();
    assertThat(engine.device().executions()).isEqualTo(warmUps());
    assertThat(engine.counters("double").waiting()).isEqualTo(1);
    engine.clock().advance(1);
    engine.step();
    engine.run();
    assertThat(engine.completed(request).timings().queueNanos()).isEqualTo(10 * MILLIS);
    engine.assertQuiescent();
  }

  @Test
  void shouldRunTogetherWhatArrivesWhileABatchIsHeld() {
    TestEngine engine = engine(10);
    Submission first = submit(engine, 1);
    engine.step();
    engine.clock().advance(4 * MILLIS);
    Submission second = submit(engine, 1);
    engine.run();
    assertThat(engine.completed(first).timings().batchRows()).isEqualTo(2);
    assertThat(engine.completed(second).timings().queueNanos()).isEqualTo(6 * MILLIS);
    assertThat(engine.counters("double").get(Metric.EXECUTIONS)).isEqualTo(1);
  }

  @Test
  void shouldNotHoldABatchThatCannotBecomeLarger() {
    TestEngine engine = engine(10);
    Submission first = submit(engine, 2);
    engine.step();
    Submission second = submit(engine, 2);
    engine.step();
    engine.step();
    assertThat(engine.completed(first).timings().queueNanos()).isZero();
    assertThat(engine.completed(second).timings().batchRows()).isEqualTo(4);
  }

  @Test
  void shouldRunAHeldBatchAtTheLatestStartThatMeetsEveryDeadline() {
    TestEngine engine =
        new TestEngine(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE).withExecutionNanos(p -> 3 * MILLIS),
            options(10));
    engine.load(TestBundle.doubling(2, 4).write(repository, "double"));
    Submission patient = submit(engine, 1);
    engine.step();
    Submission urgent =
        engine.submit(
            "double",
            engine.clock().nanoTime() + 8 * MILLIS,
            List.of(),
            Floats.input("x", new long[] {1, 2}, 1, 2));
    engine.run();
    // 8 ms, less its own run and one like the longest of late, which warmed the model up.
    assertThat(engine.completed(patient).timings().queueNanos()).isEqualTo(2 * MILLIS - 1);
    assertThat(engine.completed(urgent).timings().queueNanos()).isEqualTo(2 * MILLIS - 1);
  }

  @Test
  void shouldLetOtherModelsRunWhileABatchIsHeld() {
    TestEngine engine = engine(10);
    engine.load(TestBundle.doubling(2, 1).write(repository, "single"));
    Submission held = submit(engine, 1);
    Submission other = engine.submit("single", Floats.input("x", new long[] {1, 2}, 1, 2));
    engine.step();
    engine.step();
    assertThat(engine.isOver(other)).as("a full batch of its own is not held").isTrue();
    assertThat(engine.isOver(held)).isFalse();
    engine.run();
    engine.assertQuiescent();
  }

  @Test
  void shouldRunWhatIsHeldWhenItIsToldToHoldNothingAnyMore() {
    TestEngine engine = engine(10_000);
    Submission held = submit(engine, 1);
    engine.step();
    engine.engine().admin().stopHolding();
    Submission next = submit(engine, 1);
    for (int turn = 0; turn < 5; turn++) {
      engine.step();
    }
    assertThat(engine.completed(held).timings().queueNanos()).isZero();
    assertThat(engine.completed(next).timings().queueNanos()).isZero();
  }

  @Test
  void shouldForgetAHeldRequestThatIsCancelled() {
    TestEngine engine = engine(10);
    Submission held = submit(engine, 1);
    engine.step();
    assertThat(engine.cancel(held)).isTrue();
    assertThat(engine.counters("double").waiting()).isZero();
    engine.run();
    assertThat(engine.counters("double").get(Metric.EXECUTIONS)).isZero();
    engine.assertQuiescent();
  }

  @Test
  void shouldHoldOnlyTheModelThatIsToldTo() {
    EngineOptions options =
        EngineOptions.builder()
            .models(
                Map.of(
                    "held",
                    new ModelOptions(
                        OptionalDouble.empty(),
                        OptionalInt.empty(),
                        Optional.of(Duration.ofMillis(5)),
                        Optional.empty())))
            .build();
    TestEngine engine = new TestEngine(SimulatedDeviceOptions.instant(TestBundle.DOUBLE), options);
    engine.load(TestBundle.doubling(2, 4).write(repository, "held"));
    engine.load(TestBundle.doubling(2, 4).write(repository, "free"));
    Submission held = engine.submit("held", Floats.input("x", new long[] {1, 2}, 1, 2));
    Submission free = engine.submit("free", Floats.input("x", new long[] {1, 2}, 1, 2));
    engine.run();
    assertThat(engine.completed(free).timings().queueNanos()).isZero();
    assertThat(engine.completed(held).timings().queueNanos()).isEqualTo(5 * MILLIS);
  }

  private TestEngine engine(int delayMillis) {
    TestEngine engine =
        new TestEngine(SimulatedDeviceOptions.instant(TestBundle.DOUBLE), options(delayMillis));
    engine.load(TestBundle.doubling(2, 4).write(repository, "double"));
    return engine;
  }

  private static EngineOptions options(int delayMillis) {
    return EngineOptions.builder().maxQueueDelay(Duration.ofMillis(delayMillis)).build();
  }

  /** The one program runs three times. */
  private static long warmUps() {
    return 3;
  }

  private static Submission submit(TestEngine engine, int rows) {
    return engine.submit("double", Floats.input("x", new long[] {rows, 2}, new float[2 * rows]));
  }
}

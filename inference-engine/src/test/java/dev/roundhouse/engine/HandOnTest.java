package dev.roundhouse.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestEngine;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tensors between the steps of an ensemble, on the device and through the host. */
@Timeout(60)
class HandOnTest {
  /** Of the smallest tensors that stay on the device. */
  private static final int LARGE = (256 << 10) / Float.BYTES;

  private static final int SMALL = LARGE - 1;

  @TempDir Path repository;

  private TestEngine engine = TestEngine.of(TestBundle.DOUBLE);

  @AfterEach
  void shouldLeaveNothing() {
    engine.run();
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  private void use(TestEngine other) {
    engine.assertNothingLeaks();
    engine = other;
  }

  private void load(int width, String name, int... batchSizes) {
    ready(engine.load(TestBundle.doubling(width, batchSizes).write(repository, name)));
  }

  private static void ready(ModelStatus status) {
    assertThat(status.state()).as(status.reason()).isEqualTo(ModelState.READY);
  }

  private void loadEnsemble(int width, String outputs, String steps) {
    String tensor = "dtype: f32, shape: [n, %d]}".formatted(width);
    StringBuilder named = new StringBuilder();
    for (String output : outputs.split(",")) {
      named.append("  - {name: ").append(output).append(", ").append(tensor).append('\n');
    }
    ready(
        engine.load(
            TestBundle.ensemble(
                    "inputs: [{name: x, " + tensor + "]\noutputs:\n" + named + "steps:\n" + steps)
                .write(repository, "m")));
  }

  private static final String CHAIN =
      """
        - {model: a, inputs: {x: x}, outputs: {y: t}}
        - {model: b, inputs: {x: t}, outputs: {y: y}}
      """;

  private static InputTensor row(int width, float value) {
    float[] values = new float[width];
    Arrays.fill(values, value);
    return Floats.input("x", new long[] {1, width}, values);
  }

  private void assertAnswered(Submission request, int output, int width, float value) {
    float[] got = Floats.of(engine.completed(request).outputs().get(output));
    assertThat(got).hasSize(width).containsOnly(value);
  }

  private long in(String model) {
    return engine.counters(model).get(Metric.INPUT_BYTES);
  }

  private long out(String model) {
    return engine.counters(model).get(Metric.OUTPUT_BYTES);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldStayOnTheDevice(boolean hostVisible) {
    use(TestEngine.of(TestBundle.DOUBLE, hostVisible));
    load(LARGE, "a", 1);
    load(LARGE, "b", 1);
    loadEnsemble(LARGE, "y", CHAIN);
    for (int i = 1; i <= 3; i++) {
      Submission request = engine.submit("m", row(LARGE, i));
      engine.run();
      assertAnswered(request, 0, LARGE, 4 * i);
    }
    long bytes = 3L * LARGE * Float.BYTES;
    assertThat(in("a")).isEqualTo(bytes);
    assertThat(out("a")).isZero();
    assertThat(in("b")).isZero();
    assertThat(out("b")).isEqualTo(bytes);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldGoThroughTheHostWhenSmall(boolean hostVisible) {
    use(TestEngine.of(TestBundle.DOUBLE, hostVisible));
    load(SMALL, "a", 1);
    load(SMALL, "b", 1);
    loadEnsemble(SMALL, "y", CHAIN);
    Submission request = engine.submit("m", row(SMALL, 1));
    engine.run();
    assertAnswered(request, 0, SMALL, 4);
    assertThat(in("b")).isEqualTo((long) SMALL * Float.BYTES);
  }

  @Test
  void shouldServeSeveralStepsAndNotHideWhatTheCallerGets() {
    load(LARGE, "a", 1);
    load(LARGE, "b", 1);
    loadEnsemble(
        LARGE,
        "y,z,u",
        """
          - {model: a, inputs: {x: x}, outputs: {y: t}}
          - {model: b, inputs: {x: t}, outputs: {y: y}}
          - {model: a, inputs: {x: t}, outputs: {y: u}}
          - {model: b, inputs: {x: u}, outputs: {y: z}}
        """);
    Submission request = engine.submit("m", row(LARGE, 1));
    engine.run();
    assertAnswered(request, 0, LARGE, 4);
    assertAnswered(request, 1, LARGE, 8);
    assertAnswered(request, 2, LARGE, 4);
    assertThat(in("b")).as("u is the caller's too").isEqualTo((long) LARGE * Float.BYTES);
  }

  @Test
  void shouldBeReadWhereTheNextRunHasOtherRowsToo() {
    load(LARGE, "a", 1);
    load(LARGE, "b", 2);
    loadEnsemble(LARGE, "y", CHAIN);
    Submission one = engine.submit("m", row(LARGE, 1));
    Submission two = engine.submit("m", row(LARGE, 2));
    engine.run();
    assertAnswered(one, 0, LARGE, 4);
    assertAnswered(two, 0, LARGE, 8);
    assertThat(in("b")).isPositive();
  }

  @Test
  void shouldNotBeTakenFromARunWithOtherRowsToo() {
    load(LARGE, "a", 2);
    load(LARGE, "b", 1);
    loadEnsemble(LARGE, "y", CHAIN);
    Submission one = engine.submit("m", row(LARGE, 1));
    Submission two = engine.submit("m", row(LARGE, 2));
    engine.run();
    assertAnswered(one, 0, LARGE, 4);
    assertAnswered(two, 0, LARGE, 8);
    assertThat(in("b")).isEqualTo(2L * LARGE * Float.BYTES);
  }

  @Test
  void shouldGoThroughTheHostWhereTheDeviceHasNoRoomForThem() {
    long tensor = (long) LARGE * Float.BYTES;
    use(
        new TestEngine(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE).withMemoryBytes(3 * tensor),
            EngineOptions.builder().discipline(Fifo::new).build()));
    load(LARGE, "a", 1);
    load(LARGE, "b", 1);
    loadEnsemble(LARGE, "y", CHAIN);
    Submission request = engine.submit("m", row(LARGE, 1));
    engine.run();
    assertAnswered(request, 0, LARGE, 4);
    assertThat(in("b")).isEqualTo(tensor);
  }

  @Test
  void shouldBeFreedWhenTheRunEndsBetweenSteps() {
    use(
        new TestEngine(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE)
                .withExecutionNanos(program -> 1_000_000),
            EngineOptions.builder().discipline(Fifo::new).build()));
    load(LARGE, "a", 1);
    load(LARGE, "b", 1);
    loadEnsemble(LARGE, "y", CHAIN);
    engine.run();
    for (int turns = 0; turns < 40; turns++) {
      Submission request = engine.submit("m", row(LARGE, 1));
      for (int i = 0; i < turns && !engine.isOver(request); i++) {
        if (engine.step() == 0) {
          engine.clock().advance(100_000);
        }
      }
      engine.cancel(request);
      engine.run();
      assertThat(engine.outcome(request))
          .isInstanceOfAny(Outcome.Cancelled.class, Outcome.Completed.class);
      engine.assertQuiescent();
    }
    assertThat(engine.counters("b").get(Metric.EXECUTIONS)).as("some got so far").isPositive();
  }
}

package dev.roundhouse.engine.state;

import static dev.roundhouse.bundle.request.RequestOptions.DEFAULT;
import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.request.SequenceStep;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.HookedDevice;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestEngine;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** State of a megabyte, whose way is counted by the device. */
class StateOnDeviceTest {
  private static final boolean START = true;
  private static final boolean END = true;
  private static final int WIDTH = 1 << 16;
  private static final long STATE_BYTES = WIDTH * Float.BYTES;
  private static final long RUN = 1_000_000;

  @TempDir private Path repository;
  private int loads;
  private TestEngine engine;

  @BeforeEach
  void open() {
    open(Long.MAX_VALUE);
    load(TestBundle.addingToAll(WIDTH, 1, 4));
  }

  private void open(long deviceBytes) {
    engine =
        new TestEngine(
            SimulatedDeviceOptions.instant(TestBundle.ADD_TO_ALL)
                .withExecutionNanos(program -> RUN)
                .withMemoryBytes(deviceBytes),
            EngineOptions.builder().maxQueuedBytes(1 << 30).build());
  }

  private void load(TestBundle bundle) {
    ModelStatus status =
        engine.load(bundle.write(repository.resolve(Integer.toString(++loads)), "m"));
    assertThat(status.state()).as(status.reason()).isEqualTo(ModelState.READY);
  }

  @AfterEach
  void close() {
    engine.run();
    engine.assertNothingLeaks();
    assertThat(engine.device().closedAgain()).isZero();
  }

  private Submission submit(long id, float x, boolean start, boolean end) {
    return engine.submit(
        engine
            .request("m", Floats.input("x", new long[] {1, 1}, x))
            .options(DEFAULT.withSequence(new SequenceStep(SequenceStep.Id.of(id), start, end))));
  }

  private float total(Submission step) {
    List<OutputTensor> outputs = engine.completed(step).outputs();
    assertThat(outputs).extracting(OutputTensor::name).containsExactly("total");
    return Floats.of(outputs.getFirst())[0];
  }

  private float step(long id, float x, boolean start, boolean end) {
    Submission step = submit(id, x, start, end);
    engine.run();
    return total(step);
  }

  private long deviceBytes() {
    return engine.device().memory().inUse().orElseThrow();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldMoveNoStateAcrossTheLinkFromTheSecondStepOn(boolean hostVisible) {
    engine.assertNothingLeaks();
    engine = TestEngine.of(TestBundle.ADD_TO_ALL, hostVisible);
    load(TestBundle.addingToAll(WIDTH, 1, 4));
    assertThat(step(7, 1, START, !END)).isEqualTo(1);
    long uploaded = engine.device().uploadedBytes();
    long read = engine.device().readBytes();
    long inputs = engine.counters("m").get(Metric.INPUT_BYTES);
    long outputs = engine.counters("m").get(Metric.OUTPUT_BYTES);
    for (int i = 2; i <= 100; i++) {
      assertThat(step(7, 1, !START, !END)).isEqualTo(i);
    }
    assertThat(engine.device().uploadedBytes() - uploaded).isEqualTo(99 * Float.BYTES);
    assertThat(engine.device().readBytes() - read).isEqualTo(99 * Float.BYTES);
    assertThat(engine.counters("m").get(Metric.INPUT_BYTES) - inputs).isEqualTo(99 * Float.BYTES);
    assertThat(engine.counters("m").get(Metric.OUTPUT_BYTES) - outputs).isEqualTo(99 * Float.BYTES);
    assertThat(deviceBytes()).isEqualTo(STATE_BYTES);
    assertThat(step(7, 1, !START, END)).isEqualTo(101);
    assertThat(deviceBytes()).isZero();
    engine.assertQuiescent();
  }

  @Test
  void shouldBeginWithTheFileThatTheManifestNames() {
    ByteBuffer threes = ByteBuffer.allocate((int) STATE_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    while (threes.hasRemaining()) {
      threes.putFloat(3);
    }
    load(
        TestBundle.addingToAll(WIDTH, 1)
            .changed("initial: zero", "initial: begin.bin")
            .file("begin.bin", threes.array()));
    assertThat(step(7, 1, START, !END)).isEqualTo(4);
    assertThat(step(7, 1, !START, !END)).isEqualTo(5);
    assertThat(step(7, 10, START, END)).isEqualTo(13);
    engine.assertQuiescent();
  }

  @Test
  void shouldGiveEachSequenceARunOfItsOwn() {
    List<Submission> steps = new ArrayList<>();
    for (int i = 1; i <= 4; i++) {
      steps.add(submit(i, i, START, !END));
    }
    for (int i = 1; i <= 4; i++) {
      steps.add(submit(i, 10, !START, END));
    }
    engine.run();
    assertThat(steps).extracting(this::total).containsExactly(1f, 2f, 3f, 4f, 11f, 12f, 13f, 14f);
    assertThat(steps).allMatch(step -> engine.completed(step).timings().batchRows() == 1);
    assertThat(deviceBytes()).isZero();
    engine.assertQuiescent();
  }

  @Test
  void shouldShareRunsThroughTheHostWhenNoProgramTakesOneRow() {
    load(TestBundle.addingToAll(WIDTH, 4));
    List<Submission> steps = new ArrayList<>();
    for (int i = 1; i <= 5; i++) {
      steps.add(submit(i, i, START, !END));
    }
    for (int i = 1; i <= 5; i++) {
      steps.add(submit(i, 10, !START, END));
    }
    engine.run();
    assertThat(steps)
        .extracting(this::total)
        .containsExactly(1f, 2f, 3f, 4f, 5f, 11f, 12f, 13f, 14f, 15f);
    assertThat(engine.completed(steps.get(1)).timings().batchRows()).isEqualTo(4);
    engine.assertQuiescent();
  }

  @Test
  void shouldFreeTheStateWhenItsSequenceStartsAgainOrIsSilent() {
    step(1, 5, START, !END);
    step(1, 5, !START, !END);
    assertThat(step(1, 7, START, !END)).isEqualTo(7);
    assertThat(deviceBytes()).isEqualTo(STATE_BYTES);
    engine.clock().advance(Duration.ofSeconds(2).toNanos());
    assertThat(step(2, 3, START, END)).isEqualTo(3);
    assertThat(deviceBytes()).isZero();
    engine.assertQuiescent();
  }

  @Test
  void shouldFreeTheStateWhenItsModelIsReplaced() {
    step(1, 5, START, !END);
    Submission waits = submit(1, 5, !START, !END);
    load(TestBundle.addingToAll(WIDTH, 1));
    engine.run();
    assertThat(total(waits)).isEqualTo(10);
    assertThat(deviceBytes()).isZero();
  }

  /** The rest is {@link #close}: nothing is left on the device. */
  @Test
  void shouldFreeTheStateWhenTheEngineStops() {
    step(1, 5, START, !END);
    submit(1, 5, !START, !END);
    submit(2, 5, START, !END);
    engine.step();
    assertThat(deviceBytes()).isGreaterThan(STATE_BYTES);
    engine.assertNothingLeaks();
    open();
  }

  @Test
  void shouldGoOnWithTheStateAsItWasWhenAStepIsCancelledInItsRun() {
    step(1, 1, START, !END);
    Submission cancelled = submit(1, 100, !START, !END);
    engine.step();
    engine.cancel(cancelled);
    engine.run();
    assertThat(engine.outcome(cancelled)).isInstanceOf(Outcome.Cancelled.class);
    assertThat(step(1, 1, !START, END)).isEqualTo(2);
    engine.assertQuiescent();
  }

  @ParameterizedTest
  @ValueSource(strings = {"EXECUTE", "READ", "UPLOAD"})
  void shouldGoOnWithTheStateAsItWasWhenAStepFails(String call) {
    step(1, 1, START, !END);
    int[] failures = {1};
    engine.hook(
        (made, what) -> {
          if (made == HookedDevice.Call.valueOf(call) && failures[0]-- > 0) {
            throw new DeviceException(DeviceException.Code.INTERNAL, "no such luck");
          }
        });
    Submission failed = submit(1, 100, !START, !END);
    engine.run();
    engine.hook((made, what) -> {});
    assertThat(engine.outcome(failed)).isInstanceOf(Outcome.Failed.class);
    assertThat(step(1, 1, !START, END)).isEqualTo(2);
    engine.assertQuiescent();
  }

  @Test
  void shouldKeepStateOnTheHostAndBringItBackWhenTheDeviceIsTooSmall() {
    engine.assertNothingLeaks();
    open(12 * STATE_BYTES);
    load(TestBundle.addingToAll(WIDTH, 1));
    for (int id = 1; id <= 20; id++) {
      assertThat(step(id, id, START, !END)).isEqualTo(id);
    }
    assertThat(deviceBytes()).isBetween(STATE_BYTES, 3 * STATE_BYTES); // a quarter
    for (int round = 1; round <= 3; round++) {
      for (int id = 1; id <= 20; id++) {
        assertThat(step(id, 1, !START, round == 3)).isEqualTo(id + round);
      }
    }
    assertThat(deviceBytes()).isZero();
    engine.assertQuiescent();
  }

  @Test
  void shouldAnswerAStepBeforeOtherStateLeavesForTheHost() {
    engine.assertNothingLeaks();
    open(12 * STATE_BYTES);
    load(TestBundle.addingToAll(WIDTH, 1));
    long read = engine.device().readBytes();
    int steps = 0;
    long[] readWhenAnswered = new long[1];
    while (engine.device().readBytes() < read + STATE_BYTES) { // a quarter holds three
      Submission step = submit(++steps, steps, START, !END);
      engine.onFinished(step, () -> readWhenAnswered[0] = engine.device().readBytes());
      engine.run();
      assertThat(total(step)).isEqualTo(steps);
      assertThat(readWhenAnswered[0] - read).isEqualTo((long) steps * Float.BYTES);
    }
    assertThat(engine.device().readBytes() - read)
        .isEqualTo(STATE_BYTES + (long) steps * Float.BYTES);
  }

  /** A run takes memory besides state, and there is little. */
  @Test
  void shouldSendStateToTheHostWhenARunFindsNoMemory() {
    engine.assertNothingLeaks();
    open(12 * STATE_BYTES);
    load(TestBundle.addingToAll(WIDTH, 1));
    step(1, 1, START, !END);
    step(2, 1, START, !END);
    int[] refusals = {1};
    engine.hook(
        (made, what) -> {
          if (made == HookedDevice.Call.EXECUTE && refusals[0]-- > 0) {
            throw new DeviceException(DeviceException.Code.OUT_OF_MEMORY, "full");
          }
        });
    long read = engine.device().readBytes();
    assertThat(step(1, 1, !START, !END)).isEqualTo(2);
    assertThat(engine.device().readBytes() - read).isEqualTo(STATE_BYTES + Float.BYTES);
    assertThat(step(2, 1, !START, END)).isEqualTo(2);
    assertThat(step(1, 1, !START, END)).isEqualTo(3);
    engine.assertQuiescent();
  }
}

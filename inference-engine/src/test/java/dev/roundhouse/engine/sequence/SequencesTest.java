package dev.roundhouse.engine.sequence;

import static dev.roundhouse.bundle.request.RequestOptions.DEFAULT;
import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.request.SequenceStep;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.ReplySink.Reply;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestEngine;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SequencesTest {
  private static final long RUN = TimeUnit.MILLISECONDS.toNanos(10);
  private static final boolean START = true;
  private static final boolean END = true;

  @TempDir Path repository;
  private TestEngine engine;

  @BeforeEach
  void open() {
    open(1 << 20);
    load(TestBundle.adding(1, 4));
  }

  private void open(long maxQueuedBytes) {
    engine =
        new TestEngine(
            SimulatedDeviceOptions.instant(TestBundle.ADD).withExecutionNanos(program -> RUN),
            EngineOptions.builder()
                .maxQueueDepth(50)
                .maxQueuedBytes(maxQueuedBytes)
                .discipline(Fifo::new)
                .build());
  }

  private void load(TestBundle bundle) {
    ModelStatus status = engine.load(bundle.write(repository, "m"));
    assertThat(status.state()).as(status.reason()).isEqualTo(ModelState.READY);
  }

  @AfterEach
  void close() {
    engine.run();
    engine.assertNothingLeaks();
  }

  private Submission submit(SequenceStep.Id id, float x, boolean start, boolean end) {
    return engine.submit(request(id, x, start, end));
  }

  private InferenceRequest.Builder request(
      SequenceStep.Id id, float x, boolean start, boolean end) {
    return engine
        .request("m", Floats.input("x", new long[] {1, 1}, x))
        .options(DEFAULT.withSequence(new SequenceStep(id, start, end)));
  }

  private static SequenceStep.Id id(long number) {
    return SequenceStep.Id.of(number);
  }

  private float total(Submission step) {
    return Floats.of(engine.completed(step).outputs().getFirst())[0];
  }

  private void assertRefused(Submission step, Status status, String text) {
    assertThat(engine.outcome(step))
        .isInstanceOfSatisfying(
            Outcome.Refused.class,
            refused -> {
              assertThat(refused.status()).isEqualTo(status);
              assertThat(refused.message()).contains(text);
            });
  }

  @Test
  void shouldCarryStateFromStepToStep() {
    List<Submission> steps = new ArrayList<>();
    for (int i = 1; i <= 5; i++) {
      steps.add(submit(id(7), i, i == 1, i == 5));
      engine.run();
    }
    assertThat(steps).extracting(this::total).containsExactly(1f, 3f, 6f, 10f, 15f);
    assertThat(engine.engine().reports().sequences()).isZero();
    engine.assertQuiescent();
  }

  @Test
  void shouldBeginEverySequenceWithTheFileThatTheManifestNames() {
    byte[] hundred =
        ByteBuffer.allocate(Float.BYTES).order(ByteOrder.LITTLE_ENDIAN).putFloat(100).array();
    load(
        TestBundle.adding(1, 4)
            .changed("initial: zero", "initial: begin.bin")
            .file("begin.bin", hundred));
    List<Submission> steps = new ArrayList<>();
    steps.add(submit(id(1), 5, START, !END));
    steps.add(submit(id(2), 6, START, !END));
    steps.add(submit(id(1), 1, !START, !END));
    engine.run();
    steps.add(submit(id(1), 2, START, END));
    steps.add(submit(id(2), 0, !START, END));
    engine.run();
    assertThat(steps).extracting(this::total).containsExactly(105f, 106f, 106f, 102f, 106f);
    engine.assertQuiescent();
  }

  /** Such an answer is not copied, and the state is not the last of the program's outputs. */
  @Test
  void shouldCarryStateOutOfAnAnswerThatIsAWholeRun() {
    ModelStatus status = engine.load(TestBundle.addingWide(1 << 15).write(repository, "wide"));
    assertThat(status.state()).as(status.reason()).isEqualTo(ModelState.READY);
    for (int i = 1; i <= 3; i++) {
      Submission step =
          engine.submit(
              engine
                  .request("wide", Floats.input("x", new long[] {1, 1}, i))
                  .options(DEFAULT.withSequence(new SequenceStep(id(7), i == 1, i == 3))));
      engine.run();
      List<OutputTensor> outputs = engine.completed(step).outputs();
      assertThat(outputs).extracting(OutputTensor::name).containsExactly("total", "seen");
      assertThat(Floats.of(outputs.getFirst())).containsExactly(i * (i + 1) / 2f);
      assertThat(Floats.of(outputs.getLast())).startsWith(i == 1 ? 1 : 0, i == 3 ? 1 : 0, 1, 7);
    }
    engine.assertQuiescent();
  }

  @Test
  void shouldRunStepsOneAfterTheOtherHoweverFastTheyCome() {
    List<Submission> steps = new ArrayList<>();
    for (int i = 1; i <= 5; i++) {
      steps.add(submit(id(7), i, i == 1, i == 5));
    }
    assertThat(engine.counters("m").waiting()).isEqualTo(5);
    engine.run();
    assertThat(steps).extracting(this::total).containsExactly(1f, 3f, 6f, 10f, 15f);
    assertThat(engine.finished()).containsExactlyElementsOf(steps);
    engine.assertQuiescent();
  }

  @Test
  void shouldBatchStepsOfDifferentSequences() {
    List<Submission> steps = new ArrayList<>();
    for (int i = 1; i <= 4; i++) {
      steps.add(submit(id(i), i, START, !END));
    }
    for (int i = 1; i <= 4; i++) {
      steps.add(submit(id(i), 10, !START, END));
    }
    engine.run();
    assertThat(steps).extracting(this::total).containsExactly(1f, 2f, 3f, 4f, 11f, 12f, 13f, 14f);
    for (Submission step : steps.subList(1, 8)) {
      Reply reply = engine.completed(step);
      assertThat(reply.timings().batchRows()).as("rows of the batch").isGreaterThan(2);
    }
    engine.assertQuiescent();
  }

  @Test
  void shouldFeedTheControlsAndKeepTheStateToItself() {
    Submission first = submit(id(-1), 1, START, !END);
    Submission last = submit(id(-1), 1, !START, END);
    engine.run();
    List<OutputTensor> outputs = engine.completed(first).outputs();
    assertThat(outputs).extracting(OutputTensor::name).containsExactly("total", "seen");
    assertThat(Floats.of(outputs.get(1))).startsWith(1, 0, 1);
    assertThat(Floats.of(engine.completed(last).outputs().get(1))).startsWith(0, 1, 1);
    Submission other = submit(id(12), 1, START, END);
    engine.run();
    assertThat(Floats.of(engine.completed(other).outputs().get(1))).containsExactly(1, 1, 1, 12);
  }

  @Test
  void shouldAnswerWhatIsAskedFor() {
    Submission both =
        engine.submit(request(id(1), 1, START, !END).outputs(List.of("seen", "total")));
    Submission one = engine.submit(request(id(1), 1, !START, !END).outputs(List.of("total")));
    Submission hidden = engine.submit(request(id(1), 1, !START, END).outputs(List.of("sum_out")));
    engine.run();
    assertThat(engine.completed(both).outputs())
        .extracting(OutputTensor::name)
        .containsExactly("total", "seen"); // the model's order
    assertThat(engine.completed(one).outputs())
        .extracting(OutputTensor::name)
        .containsExactly("total");
    assertThat(total(one)).isEqualTo(2);
    assertRefused(
        hidden,
        Status.INVALID_ARGUMENT,
        "unexpected inference output 'sum_out' for model 'm'; it returns [total, seen]");
  }

  @Test
  void shouldKeepSequencesApartByNameAndKind() {
    Submission number = submit(id(1), 1, START, !END);
    Submission other = submit(id(2), 10, START, !END);
    engine.run();
    Submission more = submit(id(1), 1, !START, END);
    Submission otherMore = submit(id(2), 10, !START, END);
    engine.run();
    assertThat(List.of(number, other, more, otherMore))
        .extracting(this::total)
        .containsExactly(1f, 10f, 2f, 20f);
  }

  @Test
  void shouldStartAnewWhenASequenceStartsAgain() {
    Submission first = submit(id(1), 5, START, !END);
    Submission second = submit(id(1), 5, !START, !END);
    Submission again = submit(id(1), 7, START, !END);
    Submission more = submit(id(1), 1, !START, END);
    engine.run();
    assertThat(List.of(first, second, again, more))
        .extracting(this::total)
        .containsExactly(5f, 10f, 7f, 8f);
    engine.assertQuiescent();
  }

  @Test
  void shouldRefuseWhatBelongsToNoSequence() {
    Submission nameless = engine.submit("m", Floats.input("x", new long[] {1, 1}, 1));
    assertRefused(
        nameless, Status.INVALID_ARGUMENT, "must specify a non-zero or non-empty correlation ID");
    assertRefused(
        submit(id(9), 1, !START, !END),
        Status.INVALID_ARGUMENT,
        "inference request for sequence 9 to model 'm' must specify the START flag on the first"
            + " request of the sequence");
    Submission only = submit(id(9), 1, START, END);
    assertRefused(submit(id(9), 1, !START, !END), Status.INVALID_ARGUMENT, "START flag");
    engine.run();
    assertThat(total(only)).isEqualTo(1);
    engine.assertQuiescent();
  }

  @Test
  void shouldRefuseAStepThatCannotBeOne() {
    Submission rows =
        engine.submit(
            engine
                .request("m", Floats.input("x", new long[] {2, 1}, 1, 2))
                .options(DEFAULT.withSequence(new SequenceStep(id(1), START, !END))));
    assertRefused(
        rows, Status.INVALID_ARGUMENT, "must specify batch-size 1 due to requirements of sequence");
    Submission fed =
        engine.submit(
            engine
                .request(
                    "m",
                    Floats.input("x", new long[] {1, 1}, 1),
                    Floats.input("sum_in", new long[] {1, 1}, 1))
                .options(DEFAULT.withSequence(new SequenceStep(id(1), START, !END))));
    assertRefused(fed, Status.INVALID_ARGUMENT, "expected 1 inputs but got 2");
    Submission text = submit(SequenceStep.Id.of("a"), 1, START, !END);
    assertRefused(text, Status.INVALID_ARGUMENT, "send a number, not 'a'");
    // None of them has begun a sequence.
    assertRefused(submit(id(1), 1, !START, !END), Status.INVALID_ARGUMENT, "START flag");
    assertThat(engine.engine().reports().sequences()).isZero();
    engine.assertQuiescent();
  }

  @Test
  void shouldForgetASequenceThatIsSilent() {
    Submission first = submit(id(1), 1, START, !END);
    engine.run();
    engine.clock().advance(Duration.ofMillis(900).toNanos());
    Submission second = submit(id(1), 1, !START, !END);
    engine.run();
    engine.clock().advance(Duration.ofMillis(900).toNanos());
    Submission third = submit(id(1), 1, !START, !END);
    engine.run();
    assertThat(List.of(first, second, third)).extracting(this::total).containsExactly(1f, 2f, 3f);
    assertThat(engine.engine().heldBytes()).isPositive();
    engine.clock().advance(Duration.ofMillis(1001).toNanos());
    assertRefused(submit(id(1), 1, !START, !END), Status.INVALID_ARGUMENT, "START flag");
    engine.assertQuiescent();
  }

  @Test
  void shouldNotForgetASequenceWhoseStepStillWaits() {
    Submission first = submit(id(1), 1, START, !END);
    engine.step();
    engine.clock().advance(Duration.ofSeconds(5).toNanos());
    Submission second = submit(id(1), 1, !START, END);
    engine.run();
    assertThat(List.of(first, second)).extracting(this::total).containsExactly(1f, 2f);
    engine.assertQuiescent();
  }

  @Test
  void shouldGoOnWithTheStateAsItWasWhenAStepIsCancelled() {
    Submission first = submit(id(1), 1, START, !END);
    Submission waiting = submit(id(1), 100, !START, !END);
    Submission last = submit(id(1), 1, !START, END);
    assertThat(waiting.cancel()).isTrue();
    assertThat(engine.counters("m").waiting()).isEqualTo(2);
    engine.run();
    assertThat(List.of(first, last)).extracting(this::total).containsExactly(1f, 2f);
    assertThat(engine.outcome(waiting)).isInstanceOf(Outcome.Cancelled.class);
    engine.assertQuiescent();
  }

  @Test
  void shouldGoOnWhenAStepIsTooLate() {
    Submission first = submit(id(1), 1, START, !END);
    Submission late =
        engine.submit(
            request(id(1), 100, !START, !END)
                .deadlineNanos(engine.clock().nanoTime() + RUN + RUN / 2));
    Submission last = submit(id(1), 1, !START, END);
    engine.run();
    assertThat(List.of(first, last)).extracting(this::total).containsExactly(1f, 2f);
    assertThat(engine.outcome(late)).isInstanceOf(Outcome.Shed.class);
    engine.assertQuiescent();
  }

  @Test
  void shouldRefuseMoreSequencesThanThereIsMemoryFor() {
    engine.assertNothingLeaks();
    open(16 << 10); // of which sequences may hold a quarter: seven of 516 bytes
    load(TestBundle.adding(1, 4));
    for (int i = 1; i <= 7; i++) {
      submit(id(i), 1, START, !END);
      engine.run();
    }
    assertRefused(
        submit(id(8), 1, START, !END),
        Status.RESOURCE_EXHAUSTED,
        "sequences hold 3612 bytes of state, sequence 8 of model 'm' needs 516 and the limit is"
            + " 4096");
    submit(id(1), 1, !START, END);
    engine.run();
    Submission fits = submit(id(8), 1, START, !END);
    engine.run();
    assertThat(total(fits)).isEqualTo(1);
    engine.clock().advance(Duration.ofSeconds(2).toNanos());
    Submission afterIdle = submit(id(100), 1, START, END);
    engine.run();
    assertThat(total(afterIdle)).isEqualTo(1);
    assertThat(engine.engine().reports().sequences()).isZero();
    engine.assertQuiescent();
  }

  @Test
  void shouldEndStepsThatWaitWhenTheEngineStops() {
    List<Submission> steps = new ArrayList<>();
    for (int i = 0; i < 50; i++) {
      steps.add(submit(id(1), 1, i == 0, !END));
    }
    assertRefused(submit(id(1), 1, !START, !END), Status.RESOURCE_EXHAUSTED, "maximum queue size");
    engine.assertNothingLeaks();
    assertThat(steps).allMatch(engine::isOver);
    assertThat(steps.subList(1, 50)).allMatch(step -> engine.outcome(step) instanceof Outcome.Shed);
    open();
  }

  @Test
  void shouldForgetSequencesOfAModelThatIsReplaced() {
    Submission first = submit(id(1), 1, START, !END);
    Submission waits = submit(id(1), 1, !START, !END);
    engine.load(TestBundle.adding(1, 4).write(repository, "m"));
    assertRefused(submit(id(1), 1, !START, !END), Status.INVALID_ARGUMENT, "START flag");
    engine.run();
    assertThat(List.of(first, waits)).extracting(this::total).containsExactly(1f, 2f);
    assertThat(engine.engine().reports().sequences()).isZero();
    engine.assertQuiescent();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{name: CORRID, dtype: u64 => {name: CORRID, dtype: f32"
            + " | feeds input 'CORRID', which is f32 and may be [i32, i64, u32, u64]",
        "{name: START, dtype: f32 => {name: START, dtype: f64"
            + " | feeds input 'START', which is f64 and may be [bool, f32, i32]",
      })
  void shouldRefuseABundleThatCannotBeFed(String change, String reason) {
    String[] fromTo = change.split(" => ");
    ModelStatus status =
        engine.load(TestBundle.adding(1).changed(fromTo[0], fromTo[1]).write(repository, "other"));
    assertThat(status.state()).isEqualTo(ModelState.FAILED);
    assertThat(status.reason()).contains(reason);
  }
}

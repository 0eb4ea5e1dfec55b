package dev.roundhouse.engine;

import static dev.roundhouse.bundle.request.RequestOptions.DEFAULT;
import static dev.roundhouse.engine.testing.SmallDevice.BYTES;
import static dev.roundhouse.engine.testing.SmallDevice.MILLIS;
import static dev.roundhouse.engine.testing.SmallDevice.SCRATCH;
import static dev.roundhouse.engine.testing.SmallDevice.load;
import static dev.roundhouse.engine.testing.SmallDevice.row;
import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Receipt;
import dev.roundhouse.engine.request.Receipt.Ahead;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.ReplySink;
import dev.roundhouse.engine.testing.SmallDevice;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestEngine;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a request that asks for a receipt is told. */
@Timeout(60)
class ReceiptTest {
  private static final long RUN = 10 * MILLIS;

  /** What the link brings in a second: a model's weights in 1 ms. */
  private static final long LINK = 1_000L * BYTES;

  @TempDir Path repository;

  @Test
  void shouldNameTheModelsThatRanWhileARequestWaitedThoseWithMostTimeFirst() {
    TestEngine engine = engine(Duration.ZERO, "idle", "a", "b", "c");
    engine.submit("idle", row(1));
    engine.run();
    engine.submit("a", row(1));
    engine.step();
    for (int i = 0; i < 2; i++) {
      engine.submit("b", row(1)); // the device takes one row at a time
    }
    Submission asked = ask(engine, "c", row(1));
    engine.run();
    Receipt receipt = receipt(engine, asked);
    assertThat(receipt.ahead()).containsExactly(new Ahead("b", 2, 2 * RUN), new Ahead("a", 1, RUN));
    assertThat(receipt.weightsCame()).isFalse();
    assertThat(receipt.loadNanos()).isZero();
    assertThat(receipt.callCount()).isZero();
    Submission alone = ask(engine, "c", row(1));
    engine.run();
    assertThat(receipt(engine, alone).ahead()).as("nobody was ahead of it").isEmpty();
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  @Test
  void shouldMakeNoneUnlessAsked() {
    TestEngine engine = engine(Duration.ZERO, "a");
    Submission call = engine.submit("a", row(1));
    engine.run();
    assertThat(found(engine, call)).isNull();
  }

  @Test
  void shouldTellOfALargeRequestWhatWasAheadOfItsFirstPiece() {
    TestEngine engine = engine(Duration.ZERO, "a", "b");
    engine.submit("a", row(1));
    engine.step();
    Submission large = ask(engine, "b", Floats.input("x", new long[] {3, 2}, 1, 1, 1, 1, 1, 1));
    engine.run();
    assertThat(receipt(engine, large).ahead()).containsExactly(new Ahead("a", 1, RUN));
  }

  @Test
  void shouldNameNoModelThatIsGone() {
    TestEngine engine = engine(Duration.ofSeconds(1), "held");
    engine.load(TestBundle.doubling(2, 1).write(repository, "gone"));
    Submission asked = ask(engine, "held", row(1));
    engine.step();
    engine.submit("gone", row(1));
    while (engine.counters("gone").open() > 0) {
      if (engine.step() == 0) {
        engine.clock().advance(MILLIS);
      }
    }
    var unloaded = engine.engine().admin().unload("gone");
    while (!unloaded.isDone()) {
      engine.step();
    }
    engine.load(TestBundle.doubling(2, 1).write(repository, "new"));
    engine.run();
    assertThat(receipt(engine, asked).ahead()).extracting(Ahead::model).doesNotContain("gone");
    engine.assertQuiescent();
  }

  @Test
  void shouldSayThatWeightsHadToComeAndHowLongThatTook() {
    TestEngine engine = SmallDevice.engine(BYTES + SCRATCH, RUN, LINK);
    load(engine, "a", 2, BYTES);
    load(engine, "b", 3, BYTES);
    Submission absent = ask(engine, "a", row(1));
    engine.run();
    Receipt receipt = receipt(engine, absent);
    assertThat(receipt.weightsCame()).isTrue();
    assertThat(receipt.loadNanos()).isEqualTo(MILLIS);
    assertThat(engine.completed(absent).timings().queueNanos())
        .isGreaterThanOrEqualTo(receipt.loadNanos());
    Submission resident = ask(engine, "a", row(1));
    engine.run();
    assertThat(receipt(engine, resident).weightsCame()).isFalse();
    engine.assertNothingLeaks();
  }

  @Test
  void shouldTellOfEachCallThatAnEnsembleMakes() {
    try (LiveEngine engine = new LiveEngine(EngineOptions.DEFAULT)) {
      engine.load(TestBundle.doubling(2, 1).write(repository, "a"));
      engine.load(
          TestBundle.ensemble(
                  """
                  inputs: [{name: x, dtype: f32, shape: [n, 2]}]
                  outputs: [{name: y, dtype: f32, shape: [n, 2]}]
                  steps:
                    - {model: a, inputs: {x: x}, outputs: {y: between}}
                    - {model: a, inputs: {x: between}, outputs: {y: y}}
                  """)
              .write(repository, "twice"));
      ReplySink sink = new ReplySink();
      engine
          .engine()
          .submit(
              InferenceRequest.of("twice", List.of(row(1)), sink)
                  .options(DEFAULT.withReceipt())
                  .build());
      Outcome outcome = LiveEngine.outcome(sink.reply());
      assertThat(outcome).isInstanceOf(Outcome.Completed.class);
      Receipt receipt = Objects.requireNonNull(((Outcome.Completed) outcome).receipt());
      assertThat(receipt.callCount()).isEqualTo(2);
      assertThat(receipt.calls())
          .hasSize(2)
          .allSatisfy(
              call -> {
                assertThat(call.model()).isEqualTo("a");
                assertThat(call.version()).isEqualTo("1");
                assertThat(call.end()).isEqualTo("COMPLETED");
                assertThat(call.batchRows()).isEqualTo(1);
                assertThat(call.totalNanos())
                    .isGreaterThanOrEqualTo(call.queueNanos() + call.computeNanos());
              });
      engine.assertWell();
    }
  }

  private TestEngine engine(Duration held, String... names) {
    TestEngine engine =
        new TestEngine(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE).withExecutionNanos(program -> RUN),
            EngineOptions.builder().discipline(Fifo::new).maxQueueDelay(held).build());
    for (String name : names) {
      int size = held.isZero() ? 1 : 4;
      engine.load(TestBundle.doubling(2, size).write(repository, name));
    }
    engine.clock().advance(RUN);
    return engine;
  }

  private static Submission ask(TestEngine engine, String model, InputTensor input) {
    return engine.submit(engine.request(model, input).options(DEFAULT.withReceipt()));
  }

  private static Receipt receipt(TestEngine engine, Submission call) {
    return Objects.requireNonNull(found(engine, call));
  }

  private static @Nullable Receipt found(TestEngine engine, Submission call) {
    return ((Outcome.Completed) engine.outcome(call)).receipt();
  }
}

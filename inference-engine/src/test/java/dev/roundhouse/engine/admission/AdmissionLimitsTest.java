package dev.roundhouse.engine.admission;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.schedule.CostEstimate;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestEngine;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AdmissionLimitsTest {
  private static final long MILLIS = 1_000_000;

  @TempDir Path repository;

  @Test
  void shouldRefuseBytesBeyondTheLimitOfAllModelsTogetherAndSayTheNumbers() {
    TestEngine engine = engine(EngineOptions.builder().maxQueuedBytes(200).build(), 0);
    engine.load(TestBundle.doubling(2, 1, 4).write(repository, "other"));
    Submission first = submit(engine, "double", 8);
    Submission second = submit(engine, "other", 4);
    Submission third = submit(engine, "double", 1);
    Outcome.Refused refused = (Outcome.Refused) engine.outcome(third);
    assertThat(refused.status()).isEqualTo(Status.RESOURCE_EXHAUSTED);
    assertThat(refused.message())
        .contains(
            "hold 192 bytes",
            "'double' needs 16 (8 of inputs, 8 of its answer)",
            "limit is 200",
            "EngineOptions.maxQueuedBytes");
    assertThat(engine.counters("double").get(Metric.REFUSED_FULL)).isEqualTo(1);
    engine.run();
    assertThat(engine.outcome(first)).isInstanceOf(Outcome.Completed.class);
    assertThat(engine.outcome(second)).isInstanceOf(Outcome.Completed.class);
    assertThat(engine.engine().heldBytes()).isZero();
    Submission fourth = submit(engine, "double", 12);
    engine.run();
    assertThat(engine.outcome(fourth)).isInstanceOf(Outcome.Completed.class);
    engine.assertQuiescent();
  }

  @Test
  void shouldNotCountBytesOfARequestThatItsQueueRefuses() {
    TestEngine engine =
        engine(EngineOptions.builder().maxQueuedBytes(100).maxQueueDepth(1).build(), 0);
    submit(engine, "double", 1);
    submit(engine, "double", 4);
    assertThat(engine.engine().heldBytes()).isEqualTo(16);
    engine.run();
    assertThat(engine.engine().heldBytes()).isZero();
    engine.assertQuiescent();
  }

  @Test
  void shouldKeepRoomForWhoAsksForLittleWhenAnotherFillsTheQueue() {
    TestEngine engine = engine(EngineOptions.builder().maxQueueDepth(16).build(), 0);
    for (int i = 0; i < 16; i++) {
      submit(engine, 1, i % 2); // of caller 1, and of nobody
    }
    assertThat(engine.outcome(submit(engine, 1, 1))).isInstanceOf(Outcome.Refused.class);
    assertThat(engine.outcome(submit(engine, 1, 0))).isInstanceOf(Outcome.Refused.class);
    Submission little = submit(engine, 1, 2);
    assertThat(engine.outcome(submit(engine, 1, 2)))
        .as("it has one open, which is not next to nothing of 16")
        .isInstanceOf(Outcome.Refused.class);
    Submission other = submit(engine, 1, 3);
    Outcome.Refused full = (Outcome.Refused) engine.outcome(submit(engine, 1, 4));
    assertThat(full.message()).contains("18 requests wait for model 'double' and the limit is 16");
    engine.run();
    engine.completed(little);
    engine.completed(other);
    assertThat(engine.isOver(submit(engine, 1, 2))).isFalse();
    engine.run();
    engine.assertQuiescent();
  }

  @Test
  void shouldGiveWhoIsAloneAllOfAQueue() {
    TestEngine engine = engine(EngineOptions.builder().maxQueueDepth(4).build(), 0);
    for (int i = 0; i < 4; i++) {
      assertThat(engine.isOver(submit(engine, 1, 7))).isFalse();
    }
    assertThat(engine.outcome(submit(engine, 1, 7))).isInstanceOf(Outcome.Refused.class);
    engine.run();
    engine.assertQuiescent();
  }

  @Test
  void shouldRefuseARequestWhoseTimeARunOfItsModelWouldNotFitInto() {
    TestEngine engine = engine(EngineOptions.DEFAULT, 50 * MILLIS);
    Submission hopeless = submit(engine, "double", 1, 49 * MILLIS);
    Outcome.Refused refused = (Outcome.Refused) engine.outcome(hopeless);
    assertThat(refused.status()).isEqualTo(Status.DEADLINE_EXCEEDED);
    assertThat(refused.message())
        .contains("49000 us are left", "1 rows of model 'double' takes about 50000 us");
    assertThat(engine.counters("double").get(Metric.REFUSED_LATE)).isEqualTo(1);
    Submission possible = submit(engine, "double", 1, 50 * MILLIS + 1);
    engine.run();
    assertThat(engine.outcome(possible)).isInstanceOf(Outcome.Completed.class);
    engine.assertQuiescent();
  }

  @Test
  void shouldCountEveryPieceOfALargeRequestWhenItRulesItOut() {
    TestEngine engine = engine(EngineOptions.DEFAULT, 50 * MILLIS);
    Outcome outcome = engine.outcome(submit(engine, "double", 9, 149 * MILLIS));
    assertThat(outcome).isInstanceOf(Outcome.Refused.class);
    Submission possible = submit(engine, "double", 9, 151 * MILLIS);
    engine.run();
    assertThat(engine.outcome(possible)).isInstanceOf(Outcome.Completed.class);
  }

  @Test
  void shouldNotHoldAFigureAgainstRequestsThatNothingHasConfirmedOfLate() {
    TestEngine engine = engine(EngineOptions.DEFAULT, 50 * MILLIS);
    engine.clock().advance(CostEstimate.MAX_AGE_NANOS + 1);
    Submission request = submit(engine, "double", 1, 49 * MILLIS);
    engine.run();
    assertThat(engine.outcome(request)).isInstanceOf(Outcome.Completed.class);
  }

  @Test
  void shouldAdmitAnAnswerThatFitsToTheByte() {
    TestEngine engine = engine(EngineOptions.builder().maxAnswerBytes(16).build(), 0);
    Submission fits = submit(engine, "double", 2);
    engine.run();
    engine.completed(fits);
    Outcome.Refused refused = (Outcome.Refused) engine.outcome(submit(engine, "double", 3));
    assertThat(refused.message()).contains("would have 24 bytes and a message holds 16");
    engine.assertQuiescent();
  }

  @Test
  void shouldAdmitWhatFitsToTheByteAndTheNanosecond() {
    TestEngine engine = engine(EngineOptions.builder().maxQueuedBytes(64).build(), 50 * MILLIS);
    Submission full = submit(engine, "double", 4, 50 * MILLIS + 1);
    engine.run();
    assertThat(engine.outcome(full)).isInstanceOf(Outcome.Completed.class);
    engine.clock().advance(3 * MILLIS);
    Outcome.Refused tight =
        (Outcome.Refused) engine.outcome(submit(engine, "double", 4, 50 * MILLIS));
    assertThat(tight.message()).contains("50000 us are left");
    Outcome.Refused refused = (Outcome.Refused) engine.outcome(submit(engine, "double", 5));
    assertThat(refused.message())
        .contains("needs 80 (40 of inputs, 40 of its answer), more than the limit of 64 bytes");
    Outcome.Refused late = (Outcome.Refused) engine.outcome(submit(engine, "double", 1, 0));
    assertThat(late.message()).contains("deadline passed before the request");
    engine.assertQuiescent();
  }

  @Test
  void shouldNameTheRequestThatItRefuses() {
    TestEngine engine = engine(EngineOptions.DEFAULT, 0);
    assertThat(refusal(engine, engine.request("double").id("a7")))
        .startsWith("[request id: a7] expected 1 inputs but got 0");
    assertThat(refusal(engine, engine.request("double").id("")))
        .startsWith("[request id: <id_unknown>] expected 1 inputs");
  }

  @Test
  void shouldTellAWrongVersionFromOneThatIsNoNumber() {
    TestEngine engine = engine(EngineOptions.DEFAULT, 0);
    String eighteen = "9".repeat(18);
    assertThat(refusal(engine, engine.request("double").version(eighteen)))
        .isEqualTo(
            "Request for unknown model: 'double' version %s is not found; version 1 is served"
                .formatted(eighteen));
    assertThat(refusal(engine, engine.request("double").version(eighteen + "9")))
        .contains("must be a decimal number");
  }

  private static String refusal(TestEngine engine, InferenceRequest.Builder request) {
    return ((Outcome.Refused) engine.outcome(engine.submit(request))).message();
  }

  private TestEngine engine(EngineOptions options, long runNanos) {
    TestEngine engine =
        new TestEngine(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE).withExecutionNanos(p -> runNanos),
            options);
    engine.load(TestBundle.doubling(2, 1, 4).write(repository, "double"));
    return engine;
  }

  private static Submission submit(TestEngine engine, int rows, int caller) {
    float[] values = new float[2 * rows];
    return engine.submit(
        engine.request("double", Floats.input("x", new long[] {rows, 2}, values)).caller(caller));
  }

  private static Submission submit(TestEngine engine, String model, int rows) {
    return engine.submit(model, Floats.input("x", new long[] {rows, 2}, new float[2 * rows]));
  }

  private static Submission submit(TestEngine engine, String model, int rows, long timeoutNanos) {
    return engine.submit(
        model,
        engine.clock().nanoTime() + timeoutNanos,
        List.of(),
        Floats.input("x", new long[] {rows, 2}, new float[2 * rows]));
  }
}

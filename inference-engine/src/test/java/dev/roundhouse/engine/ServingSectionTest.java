package dev.roundhouse.engine;

import static dev.roundhouse.bundle.request.RequestOptions.DEFAULT;
import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.MetaRun;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.ShedReason;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestEngine;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a bundle's manifest asks for under {@code serving}, from the file to the answer. */
class ServingSectionTest {
  private static final long RUN = 1_000_000;
  private static final long MILLIS = 1_000_000;

  @TempDir Path repository;

  private final TestEngine engine =
      new TestEngine(
          SimulatedDeviceOptions.instant(TestBundle.DOUBLE).withExecutionNanos(program -> RUN),
          EngineOptions.builder().discipline(Fifo::new).maxQueueDepth(8).build());

  @Test
  void shouldHoldABatchForAsLongAsTheManifestSays() {
    load("max_queue_delay: 5ms", 4);
    Submission held = submit(1);
    engine.run();
    assertThat(engine.completed(held).timings().queueNanos()).isEqualTo(5 * MILLIS);
    done();
  }

  @Test
  void shouldLetNoMoreWaitThanTheManifestSays() {
    load("queue: {max_size: 2}", 1);
    List<Submission> accepted = List.of(submit(1), submit(2));
    Outcome.Refused refused = (Outcome.Refused) engine.outcome(submit(3));
    assertThat(refused.status()).isEqualTo(Status.RESOURCE_EXHAUSTED);
    assertThat(refused.message())
        .contains("Exceeds maximum queue size: 2 requests wait for model 'm' and the limit is 2")
        .endsWith("raise serving.queue.max_size in the model's manifest");
    engine.run();
    accepted.forEach(engine::completed);
    done();
  }

  @Test
  void shouldNotLetAManifestRaiseTheEnginesLimit() {
    load("queue: {max_size: 100}", 1);
    for (int i = 0; i < 8; i++) {
      submit(i);
    }
    assertThat(((Outcome.Refused) engine.outcome(submit(9))).message())
        .endsWith("raise EngineOptions.maxQueueDepth");
    engine.run();
    done();
  }

  @Test
  void shouldDropWhatHasWaitedTooLongWhenTheManifestSaysReject() {
    load("queue: {default_timeout: 2ms, timeout_action: reject}", 1);
    Submission running = submit(0);
    engine.step();
    List<Submission> inTime = List.of(submit(1));
    List<Submission> tooLate = List.of(submit(2), submit(3));
    engine.run();
    engine.completed(running);
    inTime.forEach(engine::completed);
    for (Submission request : tooLate) {
      Outcome.Shed shed = (Outcome.Shed) engine.outcome(request);
      assertThat(shed.reason()).isEqualTo(ShedReason.QUEUE_TIMEOUT);
      assertThat(shed.status()).as("as Triton answers").isEqualTo(Status.UNAVAILABLE);
      assertThat(shed.message())
          .contains("Request timeout expired after 2000 us in the queue of model 'm'");
    }
    assertThat(engine.counters("m").get(Metric.of(ShedReason.QUEUE_TIMEOUT))).isEqualTo(2);
    done();
  }

  @Test
  void shouldRunWhatHasWaitedTooLongBehindTheOthersWhenTheManifestSaysDelay() {
    load("queue: {default_timeout: 2ms, timeout_action: delay}", 1);
    Submission running = submit(0);
    engine.step();
    List<Submission> early = List.of(submit(1), submit(2), submit(3));
    engine.clock().advance(2 * MILLIS);
    List<Submission> fresh = List.of(submit(4), submit(5));
    engine.run();
    List<Submission> expected = new ArrayList<>(List.of(running));
    expected.addAll(fresh);
    expected.addAll(early);
    assertThat(engine.finished()).containsExactlyElementsOf(expected);
    expected.forEach(engine::completed);
    done();
  }

  @Test
  void shouldLetACallerShortenItsTimeoutButNotRaiseIt() {
    load("queue: {default_timeout: 4ms}", 1);
    submit(0);
    engine.step();
    Submission impatient =
        submit(request(1).options(DEFAULT.withQueueTimeout(Duration.ofNanos(RUN))));
    Submission patient =
        submit(request(2).options(DEFAULT.withQueueTimeout(Duration.ofSeconds(1))));
    engine.clock().advance(4 * MILLIS);
    engine.run();
    assertThat(((Outcome.Shed) engine.outcome(impatient)).reason())
        .isEqualTo(ShedReason.QUEUE_TIMEOUT);
    assertThat(((Outcome.Shed) engine.outcome(patient)).reason())
        .isEqualTo(ShedReason.QUEUE_TIMEOUT);
    done();
  }

  @Test
  void shouldNotHeedACallersTimeoutWhenTheManifestForbidsIt() {
    load("queue: {default_timeout: 4ms, allow_timeout_override: false}", 1);
    submit(0);
    engine.step();
    Submission impatient =
        submit(request(1).options(DEFAULT.withQueueTimeout(Duration.ofNanos(1))));
    engine.run();
    engine.completed(impatient);
    done();
  }

  @Test
  void shouldRunHigherLevelsFirstAndTakeUnknownOnesForTheDefault() {
    load("priorities: {levels: 3, default: 2}", 1);
    Submission running = submit(0);
    engine.step();
    Submission low = submit(request(1).options(DEFAULT.withPriority(3)));
    Submission normal = submit(request(2));
    Submission alsoNormal = submit(request(3).options(DEFAULT.withPriority(7)));
    Submission stillNormal = submit(request(4).options(DEFAULT.withPriority(2)));
    Submission high = submit(request(5).options(DEFAULT.withPriority(1)));
    Submission meta = submit(request(6).options(DEFAULT.withPriority(3)).run(new MetaRun()));
    engine.run();
    assertThat(engine.finished())
        .containsExactly(running, meta, high, normal, alsoNormal, stillNormal, low);
    done();
  }

  @Test
  void shouldTakeTheArmedBatchApartForAHigherLevelOfItsModel() {
    load("priorities: {levels: 2, default: 2}", 1);
    Submission running = submit(0);
    engine.step();
    Submission armed = submit(1);
    Submission next = submit(2);
    engine.clock().advance(RUN - 1);
    engine.step();
    Submission high = submit(request(3).options(DEFAULT.withPriority(1)));
    engine.run();
    assertThat(engine.finished()).containsExactly(running, high, armed, next);
    done();
  }

  @Test
  void shouldDelayWithinALevelOnly() {
    load(
        """
        priorities: {levels: 2, default: 1}
        queue: {default_timeout: 2ms, timeout_action: delay}
        """,
        1);
    Submission running = submit(0);
    engine.step();
    Submission late = submit(1);
    engine.clock().advance(2 * MILLIS);
    Submission fresh = submit(2);
    Submission low = submit(request(3).options(DEFAULT.withPriority(2)));
    engine.run();
    assertThat(engine.finished()).containsExactly(running, fresh, late, low);
    done();
  }

  @Test
  void shouldRefuseWhatItDoesNotServeByName() {
    ModelStatus levels =
        engine.load(
            TestBundle.doubling(2, 1)
                .serving("priorities: {levels: 257, default: 1}")
                .write(repository, "levels"));
    assertThat(levels.state()).isEqualTo(ModelState.FAILED);
    assertThat(levels.reason()).contains("serving.priorities.levels is 257 and the limit is 256");
    done();
  }

  @Test
  void shouldRefuseSettingsThatAModelThatCallsOthersCannotHave() {
    load("weight: 1", 1);
    ModelOptions all =
        new ModelOptions(
            OptionalDouble.of(2),
            OptionalInt.of(4),
            Optional.of(Duration.ofMillis(1)),
            Optional.of(ServingDefaults.Residency.PINNED_DEVICE));
    TestEngine strict =
        new TestEngine(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE),
            EngineOptions.builder().models(Map.of("m", all, "twice", all)).build());
    assertThat(strict.load(repository.resolve("m")).isReady()).isTrue();
    Path twice =
        TestBundle.ensemble(
                """
                inputs: [{name: x, dtype: f32, shape: [n, 2]}]
                outputs: [{name: y, dtype: f32, shape: [n, 2]}]
                steps:
                  - {model: m, inputs: {x: x}, outputs: {y: y}}
                """)
            .write(repository, "twice");
    ModelStatus refused = strict.load(twice);
    assertThat(refused.state()).isEqualTo(ModelState.FAILED);
    assertThat(refused.reason())
        .endsWith(
            "EngineOptions.models[twice].weight, EngineOptions.models[twice].rowCap, EngineOptions.models[twice].maxQueueDelay, EngineOptions.models[twice].residency are for models with programs, and this is of kind ensemble; remove them, or set them at those that this one calls: m");
    strict.assertQuiescent();
    strict.assertNothingLeaks();
    assertThat(engine.load(twice).isReady()).as("without the settings").isTrue();
    done();
  }

  private void load(String serving, int batchSize) {
    ModelStatus status =
        engine.load(TestBundle.doubling(2, batchSize).serving(serving).write(repository, "m"));
    assertThat(status.state()).as(status.reason()).isEqualTo(ModelState.READY);
  }

  private Submission submit(float value) {
    return submit(request(value));
  }

  private Submission submit(InferenceRequest.Builder request) {
    return engine.submit(request);
  }

  private InferenceRequest.Builder request(float value) {
    return engine.request("m", Floats.input("x", new long[] {1, 2}, value, value));
  }

  private void done() {
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }
}

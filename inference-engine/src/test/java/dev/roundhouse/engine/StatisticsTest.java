package dev.roundhouse.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.VersionPolicy;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.observe.InferenceReading.Runs;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.HookedDevice.Call;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestEngine;
import dev.roundhouse.engine.testing.TestImage;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is counted for a version, and the rules that it is served by. */
class StatisticsTest {
  private static final long RUN = 1_000_000;

  @TempDir Path repository;

  @Test
  void shouldCountRequestsAndTheRunsThatTheyShare() {
    TestEngine engine = engine();
    engine.load(TestBundle.doubling(2, 1, 4).write(repository, "m"));
    assertThat(statistics(engine).answered().requests()).as("warming up answers nobody").isZero();
    assertThat(statistics(engine).lastRunMillis()).isZero();
    assertThat(statistics(engine).answered().runs()).isEmpty();

    Submission alone = engine.submit("m", rows(1));
    engine.run();
    Submission first = engine.submit("m", rows(1));
    engine.submit("m", rows(3));
    engine.run();

    VersionStatistics counted = statistics(engine);
    assertThat(counted.name()).isEqualTo("m");
    assertThat(counted.version()).isEqualTo("1");
    assertThat(counted.answered().requests()).isEqualTo(3);
    assertThat(counted.answered().executions()).isEqualTo(2);
    assertThat(counted.answered().rows()).isEqualTo(5);
    assertThat(counted.answered().runs()).containsOnlyKeys(1, 4);
    assertThat(counted.answered().runs().get(4)).isEqualTo(new Runs(1, 0, RUN, 0));
    assertThat(counted.answered().computeNanos()).as("each of them shared it").isEqualTo(3 * RUN);
    assertThat(counted.answered().answerNanos()).isEqualTo(3 * RUN);
    assertThat(counted.lastRunMillis()).isCloseTo(System.currentTimeMillis(), within());
    assertThat(counted.failed()).isZero();

    Outcome.Timings took = engine.completed(alone).timings();
    assertThat(took.answeredNanos() - took.acceptedNanos()).isEqualTo(RUN);
    assertThat(engine.completed(first).timings().acceptedNanos()).isEqualTo(took.answeredNanos());
    engine.assertQuiescent();
  }

  @Test
  void shouldCountARequestOfSeveralRunsOnce() {
    TestEngine engine = engine();
    engine.load(TestBundle.doubling(2, 1, 4).write(repository, "m"));
    Submission large = engine.submit("m", rows(9));
    engine.run();

    VersionStatistics counted = statistics(engine);
    assertThat(counted.answered().requests()).isEqualTo(1);
    assertThat(counted.answered().rows()).isEqualTo(9);
    assertThat(counted.answered().runs())
        .containsOnly(
            Map.entry(4, new Runs(2, 0, 2 * RUN, 0)), Map.entry(1, new Runs(1, 0, RUN, 0)));
    assertThat(counted.answered().computeNanos()).isEqualTo(3 * RUN);
    Outcome.Timings took = engine.completed(large).timings();
    assertThat(took.answeredNanos() - took.acceptedNanos()).isEqualTo(3 * RUN);
    engine.assertQuiescent();
  }

  @Test
  void shouldCountWhatEndsWithoutAnAnswerAndHowLongItTook() {
    TestEngine engine = engine();
    engine.load(TestBundle.doubling(2, 1, 4).write(repository, "m"));
    engine.submit("m", rows(1));
    engine.step();
    Submission cancelled = engine.submit("m", rows(1));
    engine.clock().advance(10);
    assertThat(engine.cancel(cancelled)).isTrue();
    engine.run();
    engine.hook(
        (call, of) -> {
          if (call == Call.EXECUTE) {
            throw new IllegalStateException("made by a test");
          }
        });
    engine.submit("m", rows(1));
    engine.run();

    VersionStatistics counted = statistics(engine);
    assertThat(counted.failed()).isEqualTo(2);
    assertThat(counted.failedNanos()).isEqualTo(10);
    assertThat(counted.answered().requests()).isEqualTo(1);
    assertThat(counted.answered().executions()).as("a run that failed answered nobody").isOne();
    engine.assertQuiescent();
  }

  @Test
  void shouldCountBatchesThatAreAnsweredElsewhere() {
    int width = 64 << 10;
    try (LiveEngine engine = new LiveEngine(EngineOptions.DEFAULT)) {
      engine.load(TestBundle.doubling(width, 1, 4).write(repository, "large"));
      engine.load(TestBundle.doubling(2, 1).write(repository, "small"));
      for (int i = 0; i < 3; i++) {
        LiveEngine.assertCompleted(engine.submit("large", 4, width));
        LiveEngine.assertCompleted(engine.submit("small", 1, 2));
      }
      engine.assertWell();

      List<VersionStatistics> all = engine.engine().reports().statistics("", "");
      assertThat(all).extracting(VersionStatistics::name).containsExactly("large", "small");
      for (VersionStatistics each : all) {
        assertThat(each.answered().requests()).isEqualTo(3);
        assertThat(each.answered().executions()).isEqualTo(3);
      }
      assertThat(all.getFirst().answered().rows()).isEqualTo(12);
    }
  }

  @Test
  void shouldNameTheVersionsThatAreReadyOnly() {
    TestEngine engine = engine();
    TestBundle.doubling(2, 1).write(repository.resolve("m"), "1");
    TestBundle.weighted(16).write(repository.resolve("m"), "2");
    engine.engine().admin().load(repository.resolve("m"), new VersionPolicy.All()).join();
    engine.engine().admin().load(TestImage.weighted("gone", "1", () -> {})).join();
    engine.engine().admin().unload("gone");
    engine.run();

    assertThat(engine.engine().reports().statistics("", ""))
        .extracting(each -> each.name() + " " + each.version())
        .containsExactly("m 1", "m 2");
    assertThat(engine.engine().reports().statistics("m", "2")).hasSize(1);
    assertThat(engine.engine().reports().statistics("m", "3")).isEmpty();
    assertThat(engine.engine().reports().statistics("gone", "")).isEmpty();
    assertThat(engine.engine().reports().statistics("nobody", "")).isEmpty();
    assertThat(engine.engine().reports().statistics("m", "2").getFirst().deviceBytes())
        .isEqualTo(16);
  }

  @Test
  void shouldTellTheRulesThatManifestOperatorAndEngineMakeTogether() {
    ModelOptions own =
        new ModelOptions(
            OptionalDouble.of(3),
            OptionalInt.of(3),
            Optional.of(Duration.ofMillis(7)),
            Optional.empty());
    TestEngine engine =
        new TestEngine(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE),
            EngineOptions.builder()
                .discipline(Fifo::new)
                .maxQueueDepth(50)
                .maxQueueDelay(Duration.ofMillis(1))
                .models(Map.of("own", own))
                .build());
    engine.load(TestBundle.doubling(2, 1, 4).write(repository, "own"));
    engine.load(TestBundle.doubling(2, 1, 4).write(repository, "plain"));
    engine.load(TestBundle.doublingOne(2).write(repository, "alone"));

    ServingRules rules = engine.engine().rules("own", "1").orElseThrow();
    assertThat(rules.batchSizes()).containsExactly(1, 4);
    assertThat(rules.rowCap()).isEqualTo(3);
    assertThat(rules.maxQueueDelay()).isEqualTo(Duration.ofMillis(7));
    assertThat(rules.queueLimit()).isEqualTo(50);
    assertThat(rules.weight()).isEqualTo(3);
    assertThat(engine.engine().rules("plain", "").orElseThrow())
        .satisfies(plain -> assertThat(plain.rowCap()).isEqualTo(4))
        .satisfies(plain -> assertThat(plain.maxQueueDelay()).isEqualTo(Duration.ofMillis(1)));
    assertThat(engine.engine().rules("alone", "").orElseThrow().rowCap()).isEqualTo(1);
    assertThat(engine.engine().rules("own", "2")).isEmpty();
    assertThat(engine.engine().admin().setWeight("plain", 5)).isTrue();
    assertThat(engine.engine().rules("plain", "").orElseThrow().weight()).isEqualTo(5);
  }

  private static TestEngine engine() {
    return new TestEngine(
        SimulatedDeviceOptions.instant(TestBundle.DOUBLE).withExecutionNanos(program -> RUN), 64);
  }

  private static VersionStatistics statistics(TestEngine engine) {
    return engine.engine().reports().statistics("m", "").getFirst();
  }

  private static InputTensor rows(int rows) {
    return Floats.input("x", new long[] {rows, 2}, new float[rows * 2]);
  }

  private static Offset<Long> within() {
    return Offset.offset(60_000L);
  }
}

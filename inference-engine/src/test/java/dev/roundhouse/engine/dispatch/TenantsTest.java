package dev.roundhouse.engine.dispatch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.engine.schedule.EarliestDeadline;
import dev.roundhouse.engine.schedule.FairShare;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.schedule.TenantShare;
import dev.roundhouse.engine.schedule.VirtualTime;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestEngine;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** What tenants get of the device, whichever models they use. */
class TenantsTest {
  private static final int MODELS = 98;
  private static final long MILLIS = 1_000_000;
  private static final long SEED = 30;

  @TempDir Path repository;

  private final SplittableRandom random = new SplittableRandom(SEED);
  private final long[] hadNanos = new long[2];

  /**
   * Which models each of two tenants uses.
   *
   * @param outstanding requests of each at any time
   */
  record Use(String name, int[] first, int[] second, int[] outstanding) {
    @Override
    public String toString() {
      return name;
    }
  }

  static Stream<Arguments> uses() {
    int[] all = IntStream.range(0, MODELS).toArray();
    List<Use> uses =
        List.of(
            new Use("the same models", all, all, new int[] {64, 64}),
            new Use("half of them each", half(0), half(1), new int[] {64, 64}),
            new Use("one model, and all others", new int[] {0}, half(1), new int[] {8, 200}),
            new Use("all, and one of them", all, new int[] {0}, new int[] {64, 64}),
            new Use("one model together", new int[] {3}, new int[] {3}, new int[] {8, 200}));
    List<Supplier<Discipline>> disciplines =
        List.of(
            () -> new FairShare(1_000 * MILLIS, 0.25),
            VirtualTime::new,
            Fifo::new,
            EarliestDeadline::new);
    return uses.stream()
        .flatMap(
            use -> disciplines.stream().map(each -> Arguments.of(use, each.get().name(), each)));
  }

  private static int[] half(int which) {
    return IntStream.range(0, MODELS).filter(model -> model % 2 == which).toArray();
  }

  private TestEngine engine(Supplier<Discipline> discipline, int depth, int... batchSizes) {
    TestEngine engine =
        new TestEngine(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE)
                .withExecutionNanos(TenantsTest::nanos),
            EngineOptions.builder()
                .maxQueueDepth(depth)
                .maxHandOver(4096)
                .discipline(() -> new TenantShare(new double[] {3, 1}, discipline))
                .build());
    for (int model = 0; model < MODELS; model++) {
      engine.load(TestBundle.doubling(2, batchSizes).write(repository, "m" + model));
    }
    return engine;
  }

  /** Of a program: 1 to 10 ms, by its model. */
  private static long nanos(String program) {
    int model = Integer.parseInt(program.replaceAll("^m(\\d+)\\D.*", "$1"));
    return (1 + model % 10) * MILLIS;
  }

  private Submission submit(TestEngine engine, int tenant, int[] models) {
    String model = "m" + models[random.nextInt(models.length)];
    return engine.submit(
        engine.request(model, Floats.input("x", new long[] {1, 2}, 1, 2)).tenant(tenant));
  }

  /** Keeps so many requests of a tenant under way, and counts what those that end had. */
  private void keepBusy(
      TestEngine engine, List<Submission> open, int tenant, int[] models, int outstanding) {
    open.removeIf(
        request -> {
          if (!engine.isOver(request)) {
            return false;
          }
          if (engine.outcome(request) instanceof Outcome.Completed done) {
            hadNanos[tenant] +=
                done.timings().computeNanos()
                    / (done.timings().batchRows() - done.timings().paddingRows());
          }
          return true;
        });
    while (open.size() < outstanding) {
      open.add(submit(engine, tenant, models));
    }
  }

  private double share(TestEngine engine, Use use, long forNanos) {
    List<Submission> ofFirst = new ArrayList<>();
    List<Submission> ofSecond = new ArrayList<>();
    long end = engine.clock().nanoTime() + forNanos;
    while (engine.clock().nanoTime() < end) {
      keepBusy(engine, ofFirst, 0, use.first(), use.outstanding()[0]);
      keepBusy(engine, ofSecond, 1, use.second(), use.outstanding()[1]);
      engine.stepOrWait();
    }
    double share = hadNanos[0] / (double) (hadNanos[0] + hadNanos[1]);
    engine.run();
    return share;
  }

  @ParameterizedTest(name = "{0}, {1}")
  @MethodSource("uses")
  void shouldGiveATenantItsShareWhicheverModelsItUses(
      Use use, String name, Supplier<Discipline> discipline) {
    TestEngine engine = engine(discipline, 512, 1);
    assertThat(share(engine, use, 8_000 * MILLIS))
        .as("of the first tenant, whose weight is 3 of 4; %s, %s, seed %d", use, name, SEED)
        .isCloseTo(0.75, within(0.02));
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  @Test
  void shouldFillABatchWithAnothersRowsAndChargeEachForItsOwn() {
    TestEngine engine = engine(VirtualTime::new, 512, 1, 4);
    Use use = new Use("", new int[] {7}, new int[] {7}, new int[] {2, 64});
    double share = share(engine, use, 2_000 * MILLIS);
    // The two of the first are in every second batch of four, for one runs and one is armed.
    assertThat(share).isCloseTo(0.25, within(0.02));
    assertThat(engine.counters("m7").get(Metric.PADDING_ROWS)).isLessThan(8);
    engine.assertQuiescent();
  }

  @Test
  void shouldLeaveTheDeviceToWhoeverUsesIt() {
    TestEngine engine = engine(VirtualTime::new, 512, 1);
    Use use = new Use("", new int[] {7}, new int[] {8}, new int[] {0, 8});
    assertThat(share(engine, use, 1_000 * MILLIS)).isZero();
    assertThat(hadNanos[1]).isGreaterThan(900 * MILLIS);
  }

  @Test
  void shouldHaveAQueueForEachTenant() {
    TestEngine engine = engine(Fifo::new, 4, 1);
    List<Submission> floods = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      floods.add(submit(engine, 1, new int[] {0}));
    }
    Submission refused = floods.getLast();
    assertThat(engine.outcome(refused)).isInstanceOf(Outcome.Refused.class);
    assertThat(((Outcome.Refused) engine.outcome(refused)).status())
        .isEqualTo(Status.RESOURCE_EXHAUSTED);
    assertThat(((Outcome.Refused) engine.outcome(refused)).message())
        .contains("the limit is 4 of each tenant");
    Submission other = submit(engine, 0, new int[] {0});
    engine.run();
    engine.completed(other);
    engine.assertQuiescent();
    Submission later = submit(engine, 1, new int[] {0});
    engine.run();
    engine.completed(later);
  }

  @Test
  void shouldRefuseATenantThatThereIsNot() {
    TestEngine engine = engine(Fifo::new, 4, 1);
    for (int tenant : new int[] {-1, 2}) {
      assertThatThrownBy(() -> submit(engine, tenant, new int[] {0}))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("a request is of tenant " + tenant + ", and there are 2");
    }
    engine.assertQuiescent();
  }

  @Test
  void shouldForgetModelsThatGo() {
    TestEngine engine = engine(VirtualTime::new, 64, 1);
    Submission first = submit(engine, 0, new int[] {0});
    Submission second = submit(engine, 1, new int[] {0});
    var unloaded = engine.engine().admin().unload("m0");
    engine.run();
    assertThat(unloaded).isDone();
    assertThat(engine.isOver(first) && engine.isOver(second)).isTrue();
    Submission other = submit(engine, 1, new int[] {1});
    engine.run();
    engine.completed(other);
    engine.assertQuiescent();
  }
}

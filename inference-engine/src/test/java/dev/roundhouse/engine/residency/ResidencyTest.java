package dev.roundhouse.engine.residency;

import static dev.roundhouse.bundle.model.ServingDefaults.Residency.PINNED_DEVICE;
import static dev.roundhouse.bundle.model.ServingDefaults.Residency.PINNED_SYSTEM;
import static dev.roundhouse.engine.testing.SmallDevice.BYTES;
import static dev.roundhouse.engine.testing.SmallDevice.LRU;
import static dev.roundhouse.engine.testing.SmallDevice.MILLIS;
import static dev.roundhouse.engine.testing.SmallDevice.SCRATCH;
import static dev.roundhouse.engine.testing.SmallDevice.TENSOR;
import static dev.roundhouse.engine.testing.SmallDevice.answer;
import static dev.roundhouse.engine.testing.SmallDevice.engine;
import static dev.roundhouse.engine.testing.SmallDevice.load;
import static dev.roundhouse.engine.testing.SmallDevice.loadThree;
import static dev.roundhouse.engine.testing.SmallDevice.row;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.dispatch.Compacted;
import dev.roundhouse.engine.dispatch.DispatchState.Place;
import dev.roundhouse.engine.evict.LeastRecentlyUsed;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.request.MetaRun;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.ShedReason;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.testing.HookedDevice.Call;
import dev.roundhouse.engine.testing.TestEngine;
import dev.roundhouse.engine.testing.TestImage;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class ResidencyTest {
  @Test
  void shouldRefuseWeightsThatTheDeviceCouldNotHoldAloneBeforeAnythingIsUploaded() {
    AtomicInteger uploads = new AtomicInteger();
    TestEngine engine = engine(2 * BYTES, 0, 0);
    engine.hook((call, of) -> uploads.addAndGet(call == Call.UPLOAD ? 1 : 0));
    ModelStatus refused = engine.engine().admin().load(TestImage.scaled("m", 1, 3 * BYTES)).join();
    assertThat(refused.state()).isEqualTo(ModelState.FAILED);
    assertThat(refused.reason())
        .contains("its weights need 3145728 bytes of device memory and the device has 2097152");
    assertThat(uploads).hasValue(0);
    engine.assertNothingLeaks();
  }

  @Test
  void shouldAnswerEveryModelThoughOnlySomeFit() {
    TestEngine engine = engine(3 * BYTES + SCRATCH, 0, 0);
    for (int i = 0; i < 10; i++) {
      load(engine, "m" + i, i, BYTES);
    }
    Random random = new Random(7);
    for (int round = 0; round < 200; round++) {
      int model = random.nextInt(10);
      Submission call = engine.submit("m" + model, row(round));
      engine.run();
      assertThat(answer(engine, call)).isCloseTo((float) model * round, within(1e-3f));
      assertThat(engine.engine().reports().residentWeightBytes()).isLessThanOrEqualTo(3L * BYTES);
    }
    long loads = total(engine, 10, Metric.WEIGHT_LOADS);
    assertThat(loads).isGreaterThan(100);
    assertThat(total(engine, 10, Metric.WEIGHT_EVICTIONS)).isEqualTo(loads - 3);
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  @Test
  void shouldLoadAModelWhileAnotherRuns() {
    // A load takes 1 ms, a run 3: the run of the second begins when that of the first ends.
    TestEngine engine = engine(2 * BYTES + SCRATCH, 3 * MILLIS, BYTES * 1000L);
    // "a" has left for it
    loadThree(engine, BYTES);
    long begin = engine.clock().nanoTime();
    Submission first = engine.submit("b", row(1));
    engine.step();
    Submission second = engine.submit("a", row(1));
    engine.run();
    assertThat(answer(engine, first)).isEqualTo(3);
    assertThat(answer(engine, second)).isEqualTo(2);
    assertThat(engine.clock().nanoTime() - begin).isLessThan(6 * MILLIS + 100_000);
    assertThat(engine.counters("a").get(Metric.WEIGHT_LOADS)).isEqualTo(2);
    assertThat(engine.counters("c").get(Metric.WEIGHT_EVICTIONS)).isEqualTo(1);
    engine.assertNothingLeaks();
  }

  @Test
  void shouldRunOthersWhileAModelIsBeingLoaded() {
    // A part of 2 MiB takes 0.5 ms, all of the weights 20.
    int bytes = 80 << 20;
    TestEngine engine = engine(2L * bytes + SCRATCH, MILLIS, 4L * 1024 * BYTES);
    loadThree(engine, bytes);
    Submission cold = engine.submit("a", row(1));
    List<Submission> warm = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      warm.add(engine.submit("c", row(1)));
    }
    engine.run();
    assertThat(engine.finished()).containsAll(warm).endsWith(cold);
    assertThat(answer(engine, cold)).isEqualTo(2);
    engine.assertNothingLeaks();
  }

  @Test
  void shouldNotLoadForARequestThatWouldBeAnsweredTooLate() {
    TestEngine engine = engine(BYTES + SCRATCH, MILLIS, BYTES * 100L); // 10 ms
    load(engine, "a", 2, BYTES);
    load(engine, "b", 3, BYTES);
    for (int i = 0; i < 40; i++) { // what a load takes becomes known
      engine.submit(i % 2 == 0 ? "a" : "b", row(1));
      engine.run();
    }
    long loads = engine.counters("a").get(Metric.WEIGHT_LOADS);
    long now = engine.clock().nanoTime();
    Submission late = engine.submit("a", now + 8 * MILLIS, List.of(), row(1));
    assertThat(engine.outcome(late))
        .isInstanceOfSatisfying(
            Outcome.Refused.class,
            refused -> {
              assertThat(refused.status()).isEqualTo(Status.DEADLINE_EXCEEDED);
              assertThat(refused.message())
                  .contains("8000 us are left", "bringing its weights to the device 10000 us");
            });
    engine.submit("b", row(1)); // on the device: "a" waits for its run
    engine.step();
    Submission tooLate = engine.submit("a", now + 11_500_000, List.of(), row(1));
    engine.run();
    assertThat(engine.outcome(tooLate))
        .isInstanceOfSatisfying(
            Outcome.Shed.class,
            shed -> assertThat(shed.reason()).isEqualTo(ShedReason.TOO_LITTLE_TIME));
    assertThat(engine.counters("a").get(Metric.WEIGHT_LOADS)).isEqualTo(loads);
    Submission inTime =
        engine.submit("a", engine.clock().nanoTime() + 15 * MILLIS, List.of(), row(1));
    engine.run();
    assertThat(answer(engine, inTime)).isEqualTo(2);
    engine.assertNothingLeaks();
  }

  @Test
  void shouldRefuseByWhatLoadsTakeOnlyWhileThatIsConfirmed() {
    TestEngine engine = engine(BYTES + SCRATCH, 0, 0);
    load(engine, "m0", 0, BYTES);
    load(engine, "m1", 1, BYTES);
    AtomicInteger slow = new AtomicInteger(1);
    engine.hook(
        (call, of) -> {
          if (call == Call.UPLOAD && of.contains(TENSOR) && slow.getAndDecrement() > 0) {
            engine.clock().advance(1000 * MILLIS);
          }
        });
    useAll(engine, 2, 1);
    assertThat(slow.get()).as("one load was slow").isNotPositive();
    Submission call =
        engine.submit("m0", engine.clock().nanoTime() + 10 * MILLIS, List.of(), row(3));
    engine.run();
    assertThat(answer(engine, call)).isZero();
    slow.set(10);
    useAll(engine, 2, 5);
    Submission refused =
        engine.submit("m0", engine.clock().nanoTime() + 10 * MILLIS, List.of(), row(3));
    assertThat(engine.outcome(refused)).isInstanceOf(Outcome.Refused.class);
    slow.set(0);
    engine.clock().advance(11_000 * MILLIS);
    Submission again =
        engine.submit("m0", engine.clock().nanoTime() + 10 * MILLIS, List.of(), row(3));
    engine.run();
    assertThat(answer(engine, again)).isZero();
    engine.assertNothingLeaks();
  }

  @Test
  void shouldKeepWhatIsWaitedForWhileSomethingElseCanLeave() {
    TestEngine engine = engine(2 * BYTES + SCRATCH, MILLIS, 0);
    // b and c are there; b has been used less lately
    loadThree(engine, BYTES);
    Submission b = engine.submit("b", row(1));
    Submission a = engine.submit("a", row(1));
    engine.run();
    assertThat(answer(engine, a)).isEqualTo(2);
    assertThat(answer(engine, b)).isEqualTo(3);
    assertThat(engine.counters("b").get(Metric.WEIGHT_EVICTIONS)).isZero();
    assertThat(engine.counters("c").get(Metric.WEIGHT_EVICTIONS)).isEqualTo(1);
    engine.assertNothingLeaks();
  }

  @Test
  void shouldServeAModelThatWaitsThoughOthersAlwaysHaveRequests() {
    TestEngine engine = engine(2 * BYTES + SCRATCH, MILLIS, BYTES * 1000L);
    load(engine, "cold", 2, BYTES);
    load(engine, "a", 3, BYTES);
    load(engine, "b", 5, BYTES);
    Submission cold = engine.submit("cold", row(1));
    for (int turn = 0; turn < 2_000 && !engine.isOver(cold); turn++) {
      keepWaiting(engine, "a");
      keepWaiting(engine, "b");
      if (engine.step() == 0) {
        engine.clock().advance(100_000);
      }
    }
    assertThat(engine.isOver(cold)).as("the cold model has been served").isTrue();
    assertThat(answer(engine, cold)).isEqualTo(2);
    engine.run();
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  @Test
  void shouldEndAllThatWaitWhenWeightsCannotBeReadAndServeOnceTheyCan() {
    TestEngine engine = engine(BYTES + SCRATCH, MILLIS, 0);
    load(engine, "a", 2, BYTES);
    load(engine, "b", 3, BYTES);
    engine.hook(
        (call, of) -> {
          if (call == Call.UPLOAD && of.contains(TENSOR)) {
            throw new IllegalStateException("/srv/models/a/weights.safetensors is gone");
          }
        });
    Submission first = engine.submit("a", row(1));
    Submission second = engine.submit("a", row(2));
    engine.run();
    for (Submission each : List.of(first, second)) {
      assertThat(engine.outcome(each))
          .isInstanceOfSatisfying(
              Outcome.Failed.class,
              failed -> {
                assertThat(failed.status()).isEqualTo(Status.UNAVAILABLE);
                assertThat(failed.message())
                    .contains("weights of model 'a'")
                    .doesNotContain("/srv");
              });
    }
    engine.hook((call, of) -> {});
    Submission third = engine.submit("a", row(3));
    engine.run();
    assertThat(answer(engine, third)).isEqualTo(6);
    engine.assertNothingLeaks();
  }

  @Test
  void shouldBringWeightsLargerThanTheBudgetWhenNothingElseIsThere() {
    // Half of the device is for weights, which one model needs more than.
    TestEngine engine =
        engine(
            4L * BYTES,
            MILLIS,
            0,
            new ResidencyOptions(
                HostMemory.COPY,
                OptionalLong.empty(),
                0.5,
                0,
                true,
                ResidencyOptions.DEFAULT.partBytes(),
                LeastRecentlyUsed::new));
    load(engine, "small", 2, BYTES);
    load(engine, "large", 3, 3 * BYTES);
    for (int i = 1; i < 6; i++) {
      Submission small = engine.submit("small", row(i));
      Submission large = engine.submit("large", row(i));
      engine.run();
      assertThat(answer(engine, small)).isEqualTo(2 * i);
      assertThat(answer(engine, large)).isEqualTo(3 * i);
      assertThat(engine.engine().reports().residentWeightBytes()).isIn((long) BYTES, 3L * BYTES);
    }
    engine.assertNothingLeaks();
  }

  @Test
  void shouldLetGoOfAModelThatIsUnloadedWhileItIsLoaded() {
    TestEngine engine = engine(BYTES + SCRATCH, MILLIS, BYTES * 100L);
    load(engine, "a", 2, BYTES);
    load(engine, "b", 3, BYTES);
    Submission call = engine.submit("a", row(1));
    engine.step();
    assertThat(engine.cancel(call)).isTrue();
    var unloaded = engine.engine().admin().unload("a");
    engine.run();
    assertThat(unloaded).isCompleted();
    Submission other = engine.submit("b", row(1));
    engine.run();
    assertThat(answer(engine, other)).isEqualTo(3);
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  @Test
  void shouldRunCallsOfAMetaThatWaitForWeightsAheadOfOthers() {
    TestEngine engine = engine(2 * BYTES + SCRATCH, MILLIS, BYTES * 1000L);
    loadThree(engine, BYTES);
    MetaRun run = new MetaRun();
    Submission begun = engine.submitFor(run, "c", Long.MAX_VALUE, row(1));
    engine.run();
    assertThat(answer(engine, begun)).isEqualTo(5);
    List<Submission> others = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      others.add(engine.submit(i % 2 == 0 ? "b" : "c", row(i)));
    }
    Submission call = engine.submitFor(run, "a", Long.MAX_VALUE, row(1));
    engine.run();
    assertThat(answer(engine, call)).isEqualTo(2);
    assertThat(engine.finished().indexOf(call)).isLessThan(others.size() - 5);
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  @Test
  void shouldKeepPinnedWeightsOnTheDeviceUntilTheyAreUnpinned() {
    TestEngine engine = engine(3 * BYTES + SCRATCH, 0, 0);
    for (int i = 0; i < 6; i++) {
      load(engine, "m" + i, i, BYTES);
    }
    var pinned = engine.engine().admin().setResidency("m0", PINNED_DEVICE);
    engine.run();
    assertThat(pinned).isCompleted();
    assertThat(engine.lane("m0").weights().place()).isEqualTo(Place.RESIDENT);
    useAll(engine, 6, 20);
    assertThat(engine.counters("m0").get(Metric.WEIGHT_LOADS)).isEqualTo(2); // warm-up, and the pin
    assertThat(engine.state().weights().pinnedBytes()).isEqualTo(BYTES);
    var second = engine.engine().admin().setResidency("m1", PINNED_DEVICE);
    var third = engine.engine().admin().setResidency("m2", PINNED_DEVICE);
    var fourth = engine.engine().admin().setResidency("m3", PINNED_DEVICE);
    engine.run();
    assertThat(second).isCompleted();
    assertThat(third).isCompleted();
    assertThat(fourth)
        .failsWithin(Duration.ZERO)
        .withThrowableThat()
        .withMessageContaining("3145728 of the 3149784 bytes for weights");
    long left = engine.counters("m1").get(Metric.WEIGHT_EVICTIONS);
    var unpinned = engine.engine().admin().setResidency("m0", PINNED_SYSTEM);
    engine.run();
    assertThat(unpinned).isCompleted();
    useAll(engine, 6, 20);
    assertThat(engine.counters("m0").get(Metric.WEIGHT_LOADS)).isGreaterThan(10);
    assertThat(engine.counters("m1").get(Metric.WEIGHT_EVICTIONS)).isEqualTo(left);
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  @Test
  void shouldTakeWeightsOffAndBringThemAgainWhereNoLimitIsKnown() {
    TestEngine engine = engine(Long.MAX_VALUE, 0, 0);
    loadThree(engine, BYTES);
    assertThat(engine.engine().reports().residentWeightBytes()).isEqualTo(3L * BYTES);
    var compacted = engine.engine().admin().compact(List.of());
    engine.run();
    assertThat(compacted).isCompletedWithValue(new Compacted(0, 0));
    Submission call = engine.submit("a", row(1));
    engine.run();
    assertThat(answer(engine, call)).isEqualTo(2);
    assertThat(engine.engine().reports().residentWeightBytes()).isEqualTo(BYTES);
    engine.assertNothingLeaks();
  }

  @Test
  void shouldBringBackWhatIsAskedForWhenMemoryIsCompacted() {
    TestEngine engine = engine(3 * BYTES + SCRATCH, 0, 0);
    for (int i = 0; i < 5; i++) {
      load(engine, "m" + i, i, BYTES);
    }
    var pinned = engine.engine().admin().setResidency("m2", PINNED_DEVICE);
    engine.run();
    assertThat(pinned).isCompleted();
    var compacted = engine.engine().admin().compact(List.of("m0", "m1", "m2", "m0", "nobody"));
    engine.run();
    assertThat(compacted)
        .as("what is pinned never left")
        .isCompletedWithValue(new Compacted(2, 3L * BYTES));
    assertThat(engine.lane("m0").weights().place()).isEqualTo(Place.RESIDENT);
    assertThat(engine.lane("m1").weights().place()).isEqualTo(Place.RESIDENT);
    assertThat(engine.lane("m4").weights().place()).isEqualTo(Place.ABSENT);
    engine.assertNothingLeaks();
  }

  @Test
  void shouldBringOnlyWhatTheOperatorAsksForWhenItDoesNotManageItself() {
    TestEngine engine = engine(3 * BYTES + SCRATCH, MILLIS, 0, LRU.withSelfManaged(false));
    load(engine, "a", 2, BYTES);
    load(engine, "b", 3, BYTES);
    assertThat(engine.engine().answers("a", "")).as("says that it would").isFalse();
    assertThat(engine.engine().awaitsOperator("a", "")).isTrue();
    assertThat(engine.engine().awaitsOperator("nobody", "")).isFalse();
    Submission refused = engine.submit("a", row(1));
    engine.run();
    assertThat(engine.outcome(refused))
        .isInstanceOfSatisfying(
            Outcome.Failed.class,
            failed -> {
              assertThat(failed.status()).isEqualTo(Status.FAILED_PRECONDITION);
              assertThat(failed.message()).contains("model 'a' is not on the device");
            });
    var pinned = engine.engine().admin().setResidency("a", PINNED_DEVICE);
    engine.run();
    assertThat(pinned).isCompleted();
    assertThat(engine.engine().answers("a", "")).isTrue();
    assertThat(engine.engine().awaitsOperator("a", "")).isFalse();
    Submission served = engine.submit("a", row(4));
    engine.run();
    assertThat(answer(engine, served)).isEqualTo(8);
    var unpinned = engine.engine().admin().setResidency("a", PINNED_SYSTEM);
    engine.run();
    assertThat(unpinned).isCompleted();
    assertThat(engine.lane("a").weights().place()).isEqualTo(Place.ABSENT);
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  @Test
  void shouldServeOnWhenAModelIsUnloadedWhoseWeightsTheOperatorWaitsFor() {
    TestEngine engine = engine(BYTES + SCRATCH, MILLIS, BYTES * 100L);
    load(engine, "a", 2, BYTES);
    load(engine, "b", 3, BYTES);
    engine.submit("b", row(1));
    engine.step(); // what "a" would need to leave is in use
    var pinned = engine.engine().admin().setResidency("a", PINNED_DEVICE);
    engine.step();
    var unloaded = engine.engine().admin().unload("a");
    engine.run();
    assertThat(unloaded).isCompleted();
    assertThat(pinned)
        .failsWithin(Duration.ZERO)
        .withThrowableThat()
        .withMessageContaining("the model was unloaded meanwhile");
    Submission other = engine.submit("b", row(1));
    engine.run();
    assertThat(answer(engine, other)).isEqualTo(3);
    engine.assertNothingLeaks();
  }

  @Test
  void shouldRefuseAModelWhoseManifestPinsMoreThanIsLeftAndServeTheOthers() {
    TestEngine engine = engine(2 * BYTES + SCRATCH, 0, 0);
    load(engine, "a", 2, BYTES);
    var pinned = engine.engine().admin().setResidency("a", PINNED_DEVICE);
    engine.run();
    assertThat(pinned).isCompleted();
    ModelStatus refused =
        engine
            .engine()
            .admin()
            .load(TestImage.scaled("b", 3, BYTES + BYTES / 2, Optional.of(PINNED_DEVICE)))
            .join();
    assertThat(refused.state()).isEqualTo(ModelState.FAILED);
    assertThat(refused.reason()).contains("pinning its 1572864 bytes", "1048576 of");
    Submission call = engine.submit("a", row(1));
    engine.run();
    assertThat(answer(engine, call)).isEqualTo(2);
    engine.assertNothingLeaks();
  }

  private static void useAll(TestEngine engine, int models, int rounds) {
    for (int round = 0; round < rounds; round++) {
      for (int i = 0; i < models; i++) {
        Submission call = engine.submit("m" + i, row(round));
        engine.run();
        assertThat(answer(engine, call)).isEqualTo(i * round);
      }
    }
  }

  private static long total(TestEngine engine, int models, Metric metric) {
    long total = 0;
    for (int i = 0; i < models; i++) {
      total += engine.counters("m" + i).get(metric);
    }
    return total;
  }

  private static void keepWaiting(TestEngine engine, String model) {
    while (engine.counters(model).waiting() < 3) {
      engine.submit(model, row(1));
    }
  }
}

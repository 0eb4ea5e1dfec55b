package dev.roundhouse.engine.residency;

import static dev.roundhouse.engine.testing.SmallDevice.BYTES;
import static dev.roundhouse.engine.testing.SmallDevice.MILLIS;
import static dev.roundhouse.engine.testing.SmallDevice.SCRATCH;
import static dev.roundhouse.engine.testing.SmallDevice.TENSOR;
import static dev.roundhouse.engine.testing.SmallDevice.answer;
import static dev.roundhouse.engine.testing.SmallDevice.engine;
import static dev.roundhouse.engine.testing.SmallDevice.load;
import static dev.roundhouse.engine.testing.SmallDevice.loadThree;
import static dev.roundhouse.engine.testing.SmallDevice.row;
import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.testing.HookedDevice;
import dev.roundhouse.engine.testing.HookedDevice.Call;
import dev.roundhouse.engine.testing.TestEngine;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What is done when the device has less memory than the budget says. */
class DeviceMemoryTest {
  private final AtomicInteger refused = new AtomicInteger();

  @Test
  void shouldHaveAsMuchAgainLeaveWhenWeightsDoNotFit() {
    TestEngine engine = engine(3 * BYTES + SCRATCH, MILLIS, 0);
    loadFour(engine);
    engine.hook(refusing(Call.UPLOAD, of -> of.contains(TENSOR), 1));
    Submission call = engine.submit("a", row(1));
    engine.run();
    assertThat(answer(engine, call)).isEqualTo(2);
    assertThat(refused).hasValue(1);
    assertThat(engine.engine().reports().residentWeightBytes())
        .isEqualTo(2 * BYTES); // two have left
    engine.assertNothingLeaks();
  }

  @Test
  void shouldHaveOneLeaveForOneThoughTheBudgetSaysThatAllFit() {
    TestEngine engine = engine(8 * BYTES + SCRATCH, MILLIS, 0);
    loadThree(engine, BYTES);
    engine.hook(refusing(Call.UPLOAD, of -> of.contains(TENSOR), 1));
    load(engine, "d", 7, BYTES);
    assertThat(refused).hasValue(1);
    assertThat(engine.counters("a").get(Metric.WEIGHT_EVICTIONS)).isEqualTo(1);
    assertThat(engine.engine().reports().residentWeightBytes()).isEqualTo(3 * BYTES);
    engine.assertNothingLeaks();
  }

  @Test
  void shouldHaveAllLeaveWhenThatIsNotEnough() {
    TestEngine engine = engine(3 * BYTES + SCRATCH, MILLIS, 0);
    loadFour(engine);
    engine.hook(refusing(Call.UPLOAD, of -> of.contains(TENSOR), 2));
    Submission call = engine.submit("a", row(1));
    engine.run();
    assertThat(answer(engine, call)).isEqualTo(2);
    assertThat(engine.engine().reports().residentWeightBytes()).isEqualTo(BYTES);
    engine.assertNothingLeaks();
  }

  @Test
  void shouldRefuseOnlyTheRequestThatAskedWhenThereIsNoRoomInTheEnd() {
    TestEngine engine = engine(3 * BYTES + SCRATCH, MILLIS, 0);
    loadFour(engine);
    engine.hook(refusing(Call.UPLOAD, of -> of.contains(TENSOR), 3));
    Submission first = engine.submit("a", row(1));
    Submission second = engine.submit("a", row(2));
    engine.run();
    assertExhausted(engine, first, "weights of model 'a' could not be brought to the device");
    assertThat(answer(engine, second)).isEqualTo(4);
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  @ParameterizedTest
  @EnumSource(
      value = Call.class,
      names = {"UPLOAD", "EXECUTE", "AWAIT"})
  void shouldRunAgainWhenOthersHaveMadeRoomForARun(Call call) {
    for (int times = 1; times <= 2; times++) {
      refused.set(0);
      TestEngine engine = engine(3 * BYTES + SCRATCH, MILLIS, 0);
      loadThree(engine, BYTES);
      engine.hook(refusing(call, of -> !of.contains(TENSOR), times));
      Submission first = engine.submit("c", row(1));
      Submission second = engine.submit("c", row(2));
      engine.clock().advance(1); // or "b" would go first
      Submission other = engine.submit("b", row(3));
      engine.run();
      assertThat(answer(engine, first)).isEqualTo(5);
      assertThat(answer(engine, second)).isEqualTo(10);
      assertThat(answer(engine, other)).isEqualTo(9);
      assertThat(refused).hasValue(times);
      assertThat(engine.counters("a").get(Metric.WEIGHT_EVICTIONS)).isEqualTo(1);
      assertThat(engine.counters("c").get(Metric.WEIGHT_EVICTIONS)).as("it runs").isZero();
      assertThat(engine.counters("c").get(Metric.FAILED)).isZero();
      engine.assertQuiescent();
      engine.assertNothingLeaks();
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = Call.class,
      names = {"UPLOAD", "EXECUTE"})
  void shouldRefuseOnlyOneBatchWhenNoRoomHelpsARun(Call call) {
    TestEngine engine = engine(3 * BYTES + SCRATCH, MILLIS, 0);
    loadThree(engine, BYTES);
    engine.hook(refusing(call, of -> !of.contains(TENSOR), 3));
    Submission first = engine.submit("c", row(1));
    Submission second = engine.submit("c", row(2));
    engine.run();
    assertExhausted(engine, first, "execution of model 'c' failed");
    assertThat(answer(engine, second)).isEqualTo(10);
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  @Test
  void shouldRefuseARunAtOnceWhenNothingCanLeave() {
    TestEngine engine = engine(3 * BYTES + SCRATCH, MILLIS, 0);
    load(engine, "a", 2, BYTES);
    engine.hook(refusing(Call.EXECUTE, of -> true, 1));
    Submission call = engine.submit("a", row(1));
    engine.run();
    assertExhausted(engine, call, "execution of model 'a' failed");
    assertThat(refused).hasValue(1);
    engine.assertNothingLeaks();
  }

  @Test
  void shouldLoadAModelWhoseFirstRunFindsRoomWhenOthersLeave() {
    TestEngine engine = engine(4 * BYTES + SCRATCH, MILLIS, 0);
    loadThree(engine, BYTES);
    engine.hook(refusing(Call.EXECUTE, of -> of.startsWith("d/"), 1));
    load(engine, "d", 7, BYTES);
    assertThat(refused).hasValue(1);
    assertThat(engine.counters("a").get(Metric.WEIGHT_EVICTIONS)).isEqualTo(1);
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  private void loadFour(TestEngine engine) {
    loadThree(engine, BYTES);
    load(engine, "d", 7, BYTES);
  }

  private static void assertExhausted(TestEngine engine, Submission call, String text) {
    assertThat(engine.outcome(call))
        .isInstanceOfSatisfying(
            Outcome.Failed.class,
            failed -> {
              assertThat(failed.status()).isEqualTo(Status.RESOURCE_EXHAUSTED);
              assertThat(failed.message()).contains(text, "no room for");
            });
  }

  private HookedDevice.Hook refusing(Call call, Predicate<String> which, int times) {
    return (made, of) -> {
      if (made == call && which.test(of) && refused.get() < times) {
        refused.incrementAndGet();
        throw new DeviceException(DeviceException.Code.OUT_OF_MEMORY, "no room for " + of);
      }
    };
  }
}

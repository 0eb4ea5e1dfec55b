package dev.roundhouse.engine.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Objects;
import java.util.Random;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** What saturated models get, whoever is registered beside them, comes or goes. */
class SharesTest {
  private static final double MILLI = 1e-3;
  private static final int DEAR = 0;
  private static final int CHEAP = 1;

  enum Sharing implements Supplier<Discipline> {
    FAIR {
      @Override
      public Discipline get() {
        return new FairShare(30_000_000_000L, 0.25);
      }
    },
    VIRTUAL_TIME {
      @Override
      public Discipline get() {
        return new VirtualTime();
      }
    }
  }

  /**
   * A popular model beside rare ones that are called one after the other, each once. It waited for
   * as long as they came.
   */
  @ParameterizedTest
  @EnumSource
  void shouldServeTheModelThatHasWaitedLongestWhenOthersReturnOneAfterTheOther(Sharing sharing) {
    int rare = 100;
    Discipline discipline = sharing.get();
    long now = 0;
    for (int slot = 0; slot <= rare; slot++) {
      discipline.register(slot, 1);
    }
    for (int run = 0; run < 2 * rare; run++) { // the popular model every second time
      int slot = run % 2 == 0 ? 0 : 1 + run / 2;
      discipline.ready(slot, front(now));
      Saturated.run(discipline, slot, 1_000_000, now);
      discipline.notReady(slot);
      now++;
    }
    for (int slot = 0; slot < 4; slot++) {
      discipline.ready(slot, front(now++));
    }
    int runs = 0;
    for (int next = 4; next <= rare && discipline.choose() != 0; next++) {
      int chosen = discipline.choose();
      Saturated.run(discipline, chosen, 1_000_000, now);
      discipline.notReady(chosen);
      discipline.ready(next, front(now++));
      runs++;
    }
    assertThat(runs).as("runs of others").isLessThanOrEqualTo(3);
  }

  static Stream<Arguments> idleAndCosts() {
    return Stream.of(Sharing.values())
        .flatMap(
            each ->
                Stream.of(0, 98, 1_000, 20_000)
                    .flatMap(
                        idle ->
                            Stream.of(
                                Arguments.of(each, idle, 4 * MILLI, 0.3 * MILLI),
                                Arguments.of(each, idle, 0.3 * MILLI, 4 * MILLI))));
  }

  /** Weights 3 and 1. Once fair gave the first anything from 0 to 100 % beside 98 idle models. */
  @ParameterizedTest
  @MethodSource("idleAndCosts")
  void shouldShareThreeToOneWhateverIsRegisteredBeside(
      Sharing sharing, int idle, double firstCost, double secondCost) {
    Fleet fleet = new Fleet(sharing.get());
    for (int slot = 2; slot < 2 + idle; slot++) {
      fleet.add(slot, 1, MILLI);
    }
    fleet.add(DEAR, 3, firstCost);
    fleet.add(CHEAP, 1, secondCost);
    fleet.want(DEAR);
    fleet.want(CHEAP);
    fleet.runFor(1);
    assertThat(fleet.used(DEAR) / fleet.total()).isCloseTo(0.75, within(0.02));
    fleet.assertNobodyWaitedLongerThanPromised(DEAR, CHEAP);
  }

  /** Models that were busy and went idle were counted for as long as their use was remembered. */
  @ParameterizedTest
  @EnumSource
  void shouldShareThreeToOneWhenOthersHaveJustGoneIdle(Sharing sharing) {
    Fleet fleet = new Fleet(sharing.get());
    fleet.add(DEAR, 3, 4 * MILLI);
    fleet.add(CHEAP, 1, 0.3 * MILLI);
    for (int slot = 2; slot < 100; slot++) {
      fleet.add(slot, slot % 7 + 1, (slot % 5 + 1) * MILLI);
      fleet.want(slot);
    }
    fleet.runFor(5);
    for (int slot = 2; slot < 100; slot++) {
      fleet.idle(slot);
    }
    fleet.want(DEAR);
    fleet.want(CHEAP);
    fleet.forgetWhatWasUsed();
    fleet.runFor(1);
    assertThat(fleet.used(DEAR) / fleet.total()).isCloseTo(0.75, within(0.02));
    fleet.assertNobodyWaitedLongerThanPromised(DEAR, CHEAP);
  }

  /** One that had the device to itself for minutes is not punished for it when others come. */
  @ParameterizedTest
  @EnumSource
  void shouldNotMakeAModelPayForWhatNobodyElseWanted(Sharing sharing) {
    Fleet fleet = new Fleet(sharing.get());
    fleet.add(DEAR, 3, 4 * MILLI);
    fleet.add(CHEAP, 1, 0.3 * MILLI);
    fleet.want(DEAR);
    fleet.runFor(300);
    fleet.want(CHEAP);
    fleet.forgetWhatWasUsed();
    fleet.runFor(1);
    assertThat(fleet.used(DEAR) / fleet.total()).isCloseTo(0.75, within(0.02));
    fleet.assertNobodyWaitedLongerThanPromised(DEAR, CHEAP);
  }

  @ParameterizedTest
  @EnumSource
  void shouldShareByWeightWhenManyAreSaturated(Sharing sharing) {
    for (long seed = 1; seed <= 5; seed++) {
      Random random = new Random(seed);
      Fleet fleet = new Fleet(sharing.get());
      int models = 3 + random.nextInt(30);
      int[] slots = new int[models];
      double weights = 0;
      for (int i = 0; i < models; i++) {
        slots[i] = i * 17;
        double weight = 0.5 * (1 + random.nextInt(10));
        weights += weight;
        fleet.add(slots[i], weight, MILLI * (0.1 + random.nextInt(50)));
        fleet.want(slots[i]);
      }
      fleet.runFor(200);
      for (int slot : slots) {
        double due = fleet.weight(slot) / weights;
        assertThat(fleet.used(slot) / fleet.total() / due)
            .as("seed %d: share of %d over what it is due", seed, slot)
            .isCloseTo(1, within(0.02));
      }
      fleet.assertNobodyWaitedLongerThanPromised(slots);
    }
  }

  /** Two stay, a thousand come for a few runs and go, by far more than the device could serve. */
  @ParameterizedTest
  @EnumSource
  void shouldServeThoseThatStayWhenOthersComeAndGo(Sharing sharing) {
    for (long seed = 1; seed <= 3; seed++) {
      Random random = new Random(seed);
      Fleet fleet = new Fleet(sharing.get());
      fleet.add(DEAR, 3, 4 * MILLI);
      fleet.add(CHEAP, 1, 0.3 * MILLI);
      for (int slot = 2; slot < 1_002; slot++) {
        fleet.add(slot, 1, MILLI * 0.1 * (1 + random.nextInt(5)));
      }
      fleet.want(DEAR);
      fleet.want(CHEAP);
      for (int visit = 0; visit < 5_000; visit++) {
        // Twenty at a time, so the two are due a sixth of the device and more.
        int slot = 2 + random.nextInt(1_000);
        if (fleet.wanting() < 22) {
          fleet.want(slot);
        }
        fleet.runFor(MILLI);
        if (visit % 3 == 0) {
          fleet.idleAnyBut(DEAR, CHEAP);
        }
      }
      double two = fleet.used(DEAR) + fleet.used(CHEAP);
      assertThat(fleet.used(DEAR) / two).as("seed %d", seed).isCloseTo(0.75, within(0.02));
      assertThat(two / fleet.total()).as("seed %d", seed).isGreaterThan(0.95 * 4 / 24);
      assertThat(fleet.longestWait(DEAR)).as("seed %d", seed).isLessThan(0.1);
      assertThat(fleet.longestWait(CHEAP)).as("seed %d", seed).isLessThan(0.1);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldShowTheShareAmongThoseThatWantTheDevice(Sharing sharing) {
    Discipline discipline = sharing.get();
    for (int slot = 0; slot < 5; slot++) {
      discipline.register(slot, slot + 1);
    }
    assertThat(share(discipline, 4)).as("alone").isEqualTo(1);
    discipline.ready(1, front());
    discipline.ready(2, front());
    assertThat(share(discipline, 1)).isEqualTo(2.0 / 5);
    assertThat(share(discipline, 2)).isEqualTo(3.0 / 5);
    assertThat(share(discipline, 4)).as("if it became ready").isEqualTo(5.0 / 10);
    discipline.register(2, 8);
    assertThat(share(discipline, 1)).isEqualTo(2.0 / 10);
    discipline.notReady(2);
    assertThat(share(discipline, 1)).isEqualTo(1);
    discipline.unregister(1);
    assertThat(share(discipline, 4)).isEqualTo(1);
  }

  @ParameterizedTest
  @EnumSource
  void shouldNotLoseSmallWeightsToALargeOneThatWasTakenBack(Sharing sharing) {
    Discipline discipline = sharing.get();
    discipline.register(0, 1);
    discipline.register(1, 1e300);
    discipline.ready(0, front());
    discipline.ready(1, front());
    discipline.register(1, 1);
    assertThat(share(discipline, 0)).isEqualTo(0.5);
    discipline.register(1, 1e300);
    discipline.notReady(1);
    assertThat(share(discipline, 0)).isEqualTo(1);
  }

  @ParameterizedTest
  @EnumSource
  void shouldOweNothingToASlotsNextModel(Sharing sharing) {
    Fleet fleet = new Fleet(sharing.get());
    fleet.add(0, 1, MILLI);
    fleet.add(1, 1, MILLI);
    fleet.want(0);
    fleet.want(1);
    fleet.runFor(0.1);
    // A batch of the model that goes is still open, and its truth comes when the next is there.
    fleet.discipline().charge(0, 5_000_000_000L, fleet.nowNanos());
    fleet.discipline().unregister(0);
    fleet.add(0, 1, MILLI);
    fleet.want(0);
    fleet.discipline().correct(0, 5_000_000_000L, 9_000_000_000L, fleet.nowNanos());
    fleet.forgetWhatWasUsed();
    fleet.runFor(1);
    assertThat(fleet.used(0) / fleet.total()).isCloseTo(0.5, within(0.005));
  }

  /**
   * What a committed call or a warm-up takes out of turn is its model's debt, and nobody else's.
   */
  @ParameterizedTest
  @EnumSource
  void shouldNotMakeNewcomersPayForRunsOutOfTurn(Sharing sharing) {
    Fleet fleet = new Fleet(sharing.get());
    for (int slot = 0; slot < 3; slot++) {
      fleet.add(slot, 1, MILLI);
    }
    fleet.want(0);
    fleet.want(1);
    fleet.runFor(0.1);
    for (int run = 0; run < 100; run++) {
      Saturated.run(fleet.discipline(), 0, 1_000_000, fleet.nowNanos());
    }
    fleet.want(2);
    fleet.forgetWhatWasUsed();
    fleet.runFor(0.15);
    assertThat(fleet.used(0)).as("is in debt").isLessThanOrEqualTo(MILLI);
    assertThat(fleet.used(1)).isCloseTo(fleet.used(2), within(3 * MILLI));
    Objects.requireNonNull(fleet.discipline().standing(0));
  }

  @Test
  void shouldRefuseWeightsAndSettingsThatMakeNoSense() {
    for (double weight : new double[] {0, -1, Double.NaN}) {
      for (Sharing each : Sharing.values()) {
        assertThatThrownBy(() -> each.get().register(3, weight))
            .hasMessageContaining("weight " + weight + " of slot 3 is not above 0");
      }
    }
  }

  private static double share(Discipline discipline, int slot) {
    return Objects.requireNonNull(discipline.standing(slot)).share();
  }

  private static Discipline.Front front(long arrivalNanos) {
    return new Discipline.Front(arrivalNanos, Long.MAX_VALUE, 1);
  }

  private static Discipline.Front front() {
    return new Discipline.Front(0, Long.MAX_VALUE, 1e6);
  }
}

package dev.roundhouse.engine.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class VirtualTimeTest {

  @Test
  void shouldGiveTheDeviceInProportionToWeightsWhenModelsAreSaturated() {
    assertThat(
            Saturated.share(
                new VirtualTime(),
                new double[] {3, 1},
                new long[] {50_000_000, 1_000_000},
                60_000_000_000L))
        .isCloseTo(0.75, within(0.02));
  }

  /** The bound of start-time fair queueing, over every window in which both models stay ready. */
  @ParameterizedTest
  @ValueSource(longs = {31, 32, 33, 34, 35})
  void shouldNeverLetServiceOverWeightDriftMoreThanOneRunOfEachApart(long seed) {
    Random random = new Random(seed);
    int models = 2 + random.nextInt(6);
    VirtualTime discipline = new VirtualTime();
    double[] weights = new double[models];
    long[] longest = new long[models];
    for (int slot = 0; slot < models; slot++) {
      weights[slot] = 1 + random.nextInt(8);
      longest[slot] = 1_000_000L * (1 + random.nextInt(50));
      discipline.register(slot, weights[slot]);
      discipline.ready(slot, front(slot));
    }
    double[] served = new double[models];
    double[][] lowest = new double[models][models];
    double[][] highest = new double[models][models];
    long now = 0;
    for (int run = 0; run < 5_000; run++) {
      int slot = discipline.choose();
      long cost = 1 + (long) (random.nextDouble() * longest[slot]);
      now += cost;
      served[slot] += cost / weights[slot];
      Saturated.run(discipline, slot, cost, now);
      discipline.ready(slot, front(now));
      for (int i = 0; i < models; i++) {
        for (int j = 0; j < models; j++) {
          double gap = served[i] - served[j];
          lowest[i][j] = Math.min(lowest[i][j], gap);
          highest[i][j] = Math.max(highest[i][j], gap);
          double bound = longest[i] / weights[i] + longest[j] / weights[j];
          assertThat(highest[i][j] - lowest[i][j])
              .as("seed %d: gap of %d and %d over any window", seed, i, j)
              .isLessThanOrEqualTo(bound * (1 + 1e-9));
        }
      }
    }
  }

  @Test
  void shouldNotLetAModelSaveUpWhatItDidNotUse() {
    VirtualTime discipline = new VirtualTime();
    discipline.register(0, 1);
    discipline.register(1, 1);
    discipline.ready(0, front(0));
    for (int run = 0; run < 1_000; run++) {
      Saturated.run(discipline, discipline.choose(), 1_000_000, run);
    }
    discipline.ready(1, front(1_000));
    int first = 0;
    for (int run = 0; run < 100; run++) {
      int slot = discipline.choose();
      first += slot == 0 ? 1 : 0;
      Saturated.run(discipline, slot, 1_000_000, 2_000 + run);
    }
    assertThat(first).isBetween(49, 51);
  }

  @Test
  void shouldShowHowManySecondsAModelIsBehindOrAhead() {
    VirtualTime discipline = new VirtualTime();
    for (int slot = 0; slot < 3; slot++) {
      discipline.register(slot, slot + 1);
      discipline.ready(slot, front(0));
    }
    discipline.notReady(2);
    Saturated.run(discipline, 0, 8_000_000_000L, 0); // tag 8
    Saturated.run(discipline, 1, 2_000_000_000L, 0); // tag 1
    Saturated.run(discipline, 1, 4_000_000_000L, 0); // tag 3, clock 1
    Saturated.run(discipline, 1, 4_000_000_000L, 0); // tag 5, clock 3
    assertThat(discipline.standing(0).deficit()).isEqualTo(-5);
    assertThat(discipline.standing(1).deficit()).isEqualTo(2 * -2);
    assertThat(discipline.standing(2).deficit()).as("idles, and is owed nothing").isZero();
    discipline.notReady(0);
    assertThat(discipline.standing(0).deficit()).as("idles, and is ahead").isEqualTo(-5);
    discipline.ready(0, front(0));
    Saturated.run(discipline, 1, 100_000_000_000L, 0);
    Saturated.run(discipline, 0, 1, 0);
    discipline.ready(2, front(0));
    assertThat(discipline.standing(2).share()).isEqualTo(0.5);
    assertThat(discipline.name()).isEqualTo("virtual-time");
    assertThat(discipline.watchesQueues()).isFalse();
    assertThat(discipline.shedsByCost()).isTrue();
  }

  /** Ready models can be behind the clock when estimates were wrong; they are owed that. */
  @Test
  void shouldShowWhatAModelIsOwed() {
    VirtualTime discipline = new VirtualTime();
    discipline.register(0, 1);
    discipline.register(1, 2);
    discipline.ready(0, front(0));
    discipline.ready(1, front(0));
    discipline.charge(1, 8_000_000_000L, 0); // tag 4
    Saturated.run(discipline, 0, 3_000_000_000L, 0); // tag 3
    Saturated.run(discipline, 0, 3_000_000_000L, 0); // tag 6, clock 3
    discipline.correct(1, 8_000_000_000L, 2_000_000_000L, 0); // tag 1
    assertThat(discipline.standing(1).deficit()).isEqualTo(2 * 2);
  }

  @Test
  void shouldFindItsPlaceAgainWhenTheModelThatMovedTheClockIsForgotten() {
    VirtualTime discipline = new VirtualTime();
    for (int slot = 0; slot < 3; slot++) {
      discipline.register(slot, 1);
    }
    discipline.ready(2, front(0));
    Saturated.run(discipline, 2, 50, 0);
    discipline.notReady(2);
    discipline.ready(0, front(0));
    discipline.charge(0, 100, 0);
    discipline.charge(0, 100, 0);
    discipline.ready(1, front(0)); // at 100
    discipline.ready(2, front(0)); // at 100
    discipline.unregister(0);
    discipline.notReady(2);
    discipline.ready(2, front(0)); // at its own 50 again
    assertThat(discipline.choose()).as("joined at 0 after all").isEqualTo(1);
  }

  /** After months the tags of doubles are coarser than a short run over a large weight. */
  @Test
  void shouldStillTellShortRunsApartAfterYears() {
    VirtualTime discipline = new VirtualTime();
    discipline.register(0, 1);
    discipline.register(1, 1_000_000);
    discipline.ready(0, front(0));
    long years = 1L << 60;
    Saturated.run(discipline, 0, years, 0);
    Saturated.run(discipline, 0, years, 0);
    discipline.ready(1, front(0));
    assertThat(discipline.tag(1)).as("not while models want the device").isEqualTo(years);
    discipline.notReady(0);
    discipline.notReady(1);
    discipline.charge(1, 50_000, 0);
    discipline.ready(1, front(0));
    assertThat(discipline.tag(1)).as("nor while a batch is under way").isEqualTo(years);
    discipline.correct(1, 50_000, 50_000, 0);
    discipline.notReady(1);
    discipline.ready(1, front(0));
    discipline.ready(0, front(0));
    Saturated.run(discipline, 1, 50_000, 0);
    assertThat(discipline.tag(1)).isCloseTo(0.05, within(1e-12));
    assertThat(discipline.tag(0)).as("keeps its debt").isEqualTo(years);
  }

  @Test
  void shouldRefuseAWeightThatIsNotPositive() {
    assertThatThrownBy(() -> new VirtualTime().register(0, 0)).hasMessageContaining("not above 0");
  }

  private static Discipline.Front front(long arrival) {
    return new Discipline.Front(arrival, Long.MAX_VALUE, 1);
  }
}

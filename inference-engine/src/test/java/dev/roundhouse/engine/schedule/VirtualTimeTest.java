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
  void shouldRefuseAWeightThatIsNotPositive() {
    assertThatThrownBy(() -> new VirtualTime().register(0, 0)).hasMessageContaining("not above 0");
  }

  private static Discipline.Front front(long arrival) {
    return new Discipline.Front(arrival, Long.MAX_VALUE, 1);
  }
}

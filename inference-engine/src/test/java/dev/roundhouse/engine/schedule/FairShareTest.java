package dev.roundhouse.engine.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FairShareTest {
  private static final long HALF_LIFE = 30_000_000_000L;
  private static final double CAP = 0.25;
  private static final long NO_DEADLINE = Long.MAX_VALUE;

  /** ReactantServer's example: equal weights, recent use .7 .2 .1, costs 10 30 100 ms. */
  @Test
  void shouldScoreReactantServersExampleAndMendItsDefect() {
    double third = 1.0 / 3;
    double discounted = 0.9; // upstream's discount scales every cost alike
    assertThat(FairScore.of(third, 0.2, 30 * discounted, CAP)).isCloseTo(0.00494, within(5e-6));
    assertThat(FairScore.of(third, 0.1, 100 * discounted, CAP)).isCloseTo(0.00259, within(5e-6));
    // Over its share: upstream divides, -0.25 / 9 = -0.0278; multiplied, a dearer model is further
    // back.
    assertThat(FairScore.of(third, 0.7, 10 * discounted, CAP)).isCloseTo(-2.25, within(1e-9));
    assertThat(FairScore.of(third, 0.7, 100 * discounted, CAP))
        .isLessThan(FairScore.of(third, 0.7, 10 * discounted, CAP));
  }

  @Test
  void shouldChooseAsTheExampleSays() {
    FairShare fair = new FairShare(HALF_LIFE, CAP);
    double[] recent = {0.7, 0.2, 0.1};
    double[] costs = {10e6, 30e6, 100e6};
    for (int slot = 0; slot < 3; slot++) {
      fair.register(slot, 1);
      fair.ready(slot, new Discipline.Front(0, NO_DEADLINE, costs[slot]));
    }
    for (int slot = 0; slot < 3; slot++) {
      Saturated.run(fair, slot, Math.round(recent[slot] * 1e9), 0);
    }
    assertThat(fair.choose()).isEqualTo(1);
  }

  @Test
  void shouldLetTheOlderRequestGoFirstWhenScoresAreEqual() {
    FairShare fair = new FairShare(HALF_LIFE, CAP);
    for (int slot = 0; slot < 3; slot++) {
      fair.register(slot, 1);
    }
    fair.ready(0, new Discipline.Front(30, NO_DEADLINE, 1e6));
    fair.ready(1, new Discipline.Front(10, NO_DEADLINE, 1e6));
    fair.ready(2, new Discipline.Front(10, NO_DEADLINE, 1e6));
    assertThat(fair.choose()).isEqualTo(1);
    fair.notReady(1);
    assertThat(fair.choose()).isEqualTo(2);
  }

  /** The heap of bounds must choose what looking at every model would. */
  @ParameterizedTest
  @ValueSource(longs = {21, 22, 23, 24})
  void shouldChooseExactlyWhatASearchOfAllWouldChoose(long seed) {
    Random random = new Random(seed);
    int models = 200;
    FairShare fair = new FairShare(HALF_LIFE, CAP);
    boolean[] ready = new boolean[models];
    long[] arrival = new long[models];
    for (int slot = 0; slot < models; slot++) {
      fair.register(slot, 1 + random.nextInt(5));
    }
    long now = 0;
    for (int step = 0; step < 20_000; step++) {
      now += random.nextInt(3_000_000);
      int slot = random.nextInt(models);
      switch (random.nextInt(4)) {
        case 0 -> {
          ready[slot] = false;
          fair.notReady(slot);
        }
        case 1 -> fair.register(slot, 1 + random.nextInt(5));
        default -> {
          ready[slot] = true;
          arrival[slot] = now;
          fair.ready(
              slot, new Discipline.Front(now, NO_DEADLINE, 1e5 + random.nextInt(50_000_000)));
        }
      }
      int expected = -1;
      for (int each = 0; each < models; each++) {
        if (ready[each]
            && (expected < 0
                || fair.score(each) > fair.score(expected)
                || (fair.score(each) == fair.score(expected)
                    && arrival[each] < arrival[expected]))) {
          expected = each;
        }
      }
      assertThat(fair.isEmpty()).isEqualTo(expected < 0);
      if (expected >= 0) {
        assertThat(fair.choose()).as("seed %d step %d", seed, step).isEqualTo(expected);
        Saturated.run(fair, expected, 100_000 + random.nextInt(50_000_000), now);
      }
    }
  }

  @Test
  void shouldGiveTheDeviceInProportionToWeightsWhenModelsAreSaturated() {
    FairShare fair = new FairShare(HALF_LIFE, CAP);
    double[] weights = {3, 1};
    long[] costs = {7_000_000, 2_000_000};
    assertThat(Saturated.share(fair, weights, costs, 100_000_000_000L))
        .isCloseTo(0.75, within(0.02));
  }
}

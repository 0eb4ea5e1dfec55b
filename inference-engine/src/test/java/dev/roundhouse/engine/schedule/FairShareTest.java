package dev.roundhouse.engine.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
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

  /** The heap of bounds must choose what the formula says of every model, from nothing but tags. */
  @ParameterizedTest
  @ValueSource(longs = {21, 22, 23, 24})
  void shouldChooseExactlyWhatASearchOfAllWouldChoose(long seed) {
    Random random = new Random(seed);
    int models = 100;
    FairShare fair = new FairShare(HALF_LIFE, CAP);
    boolean[] ready = new boolean[models];
    double[] weights = new double[models];
    double[] costs = new double[models];
    for (int slot = 0; slot < models; slot++) {
      weights[slot] = 1 + random.nextInt(5);
      fair.register(slot, weights[slot]);
    }
    long now = 0;
    for (int step = 0; step < 5_000; step++) {
      now += random.nextInt(3_000_000);
      if (random.nextInt(1_000) == 0) {
        now += 300 * HALF_LIFE; // figures are brought back to size
      }
      int slot = random.nextInt(models);
      switch (random.nextInt(4)) {
        case 0 -> {
          ready[slot] = false;
          fair.notReady(slot);
        }
        case 1 -> {
          weights[slot] = random.nextInt(30) == 0 ? 1e5 : 1 + random.nextInt(5);
          fair.register(slot, weights[slot]);
        }
        default -> {
          ready[slot] = true;
          costs[slot] = 1e5 + random.nextInt(50_000_000);
          fair.ready(slot, new Discipline.Front(now, NO_DEADLINE, costs[slot]));
        }
      }
      assertThat(fair.isEmpty()).isEqualTo(count(ready) == 0);
      if (!fair.isEmpty()) {
        double[] scores = scores(fair, ready, weights, costs);
        double best = Arrays.stream(scores).max().orElseThrow();
        int chosen = fair.choose();
        assertThat(scores[chosen])
            .as("seed %d step %d: %d", seed, step, chosen)
            .isCloseTo(best, within(1e-9 * Math.abs(best) + 1e-14));
        Saturated.run(fair, chosen, 100_000 + random.nextInt(50_000_000), now);
      }
    }
  }

  /** Those that are not ready score least of all. */
  private static double[] scores(
      FairShare fair, boolean[] ready, double[] weights, double[] costs) {
    double allWeights = 0;
    double allUse = 0;
    for (int slot = 0; slot < ready.length; slot++) {
      allWeights += ready[slot] ? weights[slot] : 0;
      allUse += ready[slot] ? weights[slot] * fair.tag(slot) : 0;
    }
    double[] scores = new double[ready.length];
    for (int slot = 0; slot < ready.length; slot++) {
      double recent = allUse == 0 ? 0 : weights[slot] * fair.tag(slot) / allUse;
      double score = FairScore.of(weights[slot] / allWeights, recent, costs[slot], CAP);
      scores[slot] = ready[slot] ? score : Double.NEGATIVE_INFINITY;
    }
    return scores;
  }

  private static int count(boolean[] flags) {
    int count = 0;
    for (boolean each : flags) {
      count += each ? 1 : 0;
    }
    return count;
  }

  /** Some come and go with every choice; runs are long beside what is remembered, a hard case. */
  @ParameterizedTest
  @ValueSource(ints = {10, 100, 1_000, 20_000})
  void shouldLookAtFewScoresHoweverManyAreReady(int models) {
    Random random = new Random(5);
    FairShare fair = new FairShare(HALF_LIFE, CAP);
    for (int slot = 0; slot < models; slot++) {
      fair.register(slot, 1 + random.nextInt(5));
      fair.ready(slot, front(random));
    }
    long now = 0;
    int choices = 40_000;
    for (int choice = 0; choice < choices; choice++) {
      int slot = fair.choose();
      now += 1_000_000;
      Saturated.run(fair, slot, 100_000 + random.nextInt(5_000_000), now);
      fair.ready(slot, front(random));
      int other = random.nextInt(models);
      fair.notReady(other);
      fair.ready(other, front(random));
    }
    assertThat((double) fair.looks() / choices)
        .as("scores looked at per choice")
        .isBetween(1.0, 5 + 2 * Math.sqrt(models));
  }

  @Test
  void shouldKeepCountOfUseWhenAVeryLargeWeightLeaves() {
    FairShare fair = new FairShare(HALF_LIFE, CAP);
    double[] weights = {1, 1, 1e300};
    for (int slot = 0; slot < 3; slot++) {
      fair.register(slot, weights[slot]);
      fair.ready(slot, new Discipline.Front(slot, NO_DEADLINE, 1e6));
    }
    Saturated.run(fair, 0, 1_000_000, 0);
    fair.notReady(2);
    assertThat(fair.choose()).isEqualTo(1);
    assertThat(deficit(fair, 0)).isEqualTo(-0.5);
    assertThat(deficit(fair, 1)).isEqualTo(0.5);
  }

  @Test
  void shouldShowHowFarAModelIsFromItsShare() {
    FairShare fair = new FairShare(HALF_LIFE, CAP);
    for (int slot = 0; slot < 4; slot++) {
      fair.register(slot, slot + 1);
    }
    assertThat(deficit(fair, 2)).as("nobody had anything").isZero();
    fair.ready(0, new Discipline.Front(0, NO_DEADLINE, 1e6));
    fair.ready(1, new Discipline.Front(0, NO_DEADLINE, 1e6));
    Saturated.run(fair, 0, 3_000_000, 0);
    Saturated.run(fair, 1, 1_000_000, 0);
    assertThat(deficit(fair, 0)).isCloseTo(1.0 / 3 - 0.75, within(1e-12));
    assertThat(deficit(fair, 1)).isCloseTo(2.0 / 3 - 0.25, within(1e-12));
    assertThat(deficit(fair, 3)).as("as if it came now").isCloseTo(4.0 / 7, within(1e-12));
    fair.notReady(0);
    assertThat(deficit(fair, 0)).isCloseTo(1.0 / 3 - 0.75, within(1e-12));
  }

  @Test
  void shouldShowAnIdleModelAtTheClockItWouldStartAt() {
    FairShare fair = new FairShare(HALF_LIFE, CAP);
    for (int slot = 0; slot < 3; slot++) {
      fair.register(slot, 1);
    }
    fair.ready(0, new Discipline.Front(0, NO_DEADLINE, 1e6));
    Saturated.run(fair, 0, 3_000_000, 0);
    Saturated.run(fair, 0, 3_000_000, 0); // tag 6, clock 3
    assertThat(deficit(fair, 1)).as("3 of 9").isCloseTo(0.5 - 3.0 / 9, within(1e-12));
    fair.ready(1, new Discipline.Front(0, NO_DEADLINE, 1e6));
    assertThat(deficit(fair, 1)).isCloseTo(0.5 - 3.0 / 9, within(1e-12));
    Saturated.run(fair, 1, 1_000_000, 0); // tag 4
    Saturated.run(fair, 1, 5_000_000, 0); // tag 9, clock 4
    fair.notReady(1);
    assertThat(deficit(fair, 1)).as("9 of 15").isCloseTo(0.5 - 9.0 / 15, within(1e-12));
  }

  @Test
  void shouldForgetHalfOfADebtInAHalfLife() {
    FairShare fair = new FairShare(HALF_LIFE, CAP);
    fair.register(0, 1);
    fair.register(1, 1);
    fair.ready(0, new Discipline.Front(0, NO_DEADLINE, 1e6));
    fair.ready(1, new Discipline.Front(0, NO_DEADLINE, 1e6));
    Saturated.run(fair, 0, 8_000_000, 0);
    // After three half-lives a millisecond counts as eight did.
    Saturated.run(fair, 1, 1_000_000, 3 * HALF_LIFE);
    assertThat(deficit(fair, 0)).isCloseTo(0, within(1e-9));
    // And after very many the first run is nothing.
    Saturated.run(fair, 1, 1_000_000, 1_000 * HALF_LIFE);
    assertThat(deficit(fair, 0)).isCloseTo(0.5, within(1e-9));
    Saturated.run(fair, 0, 1_000_000, 1_000 * HALF_LIFE);
    assertThat(deficit(fair, 0)).isCloseTo(0, within(1e-9));
  }

  @Test
  void shouldCorrectAnEstimateThatIsOlderThanTheUnitOfItsFigures() {
    FairShare fair = new FairShare(HALF_LIFE, CAP);
    fair.register(0, 1);
    fair.register(1, 1);
    fair.ready(0, new Discipline.Front(0, NO_DEADLINE, 1e6));
    fair.ready(1, new Discipline.Front(0, NO_DEADLINE, 1e6));
    fair.charge(0, 5_000_000, 0);
    fair.charge(1, 1_000_000, 300 * HALF_LIFE);
    fair.correct(1, 1_000_000, 0, 300 * HALF_LIFE);
    assertThat(deficit(fair, 0)).isCloseTo(-0.5, within(1e-9));
    fair.charge(1, 2_000_000, 300 * HALF_LIFE);
    fair.correct(0, 5_000_000, 9_000_000, 300 * HALF_LIFE);
    fair.correct(1, 2_000_000, 0, 300 * HALF_LIFE);
    assertThat(deficit(fair, 0)).isCloseTo(-0.5, within(1e-9));
    assertThat(deficit(fair, 1)).isCloseTo(0.5, within(1e-9));
  }

  /** Three thirds are no whole to a computer; the age of a request decides, not the rounding. */
  @Test
  void shouldLetTheOlderRequestGoFirstWhenAllStandLevel() {
    FairShare fair = new FairShare(HALF_LIFE, CAP);
    for (int slot = 0; slot < 7; slot++) {
      fair.register(slot, 0.1 * (slot + 1));
      fair.ready(slot, new Discipline.Front(7 - slot, NO_DEADLINE, 1 + slot));
    }
    for (int slot = 0; slot < 7; slot++) {
      Saturated.run(fair, slot, 700_001L * (slot + 1), 0);
    }
    for (int slot = 6; slot >= 0; slot--) {
      assertThat(fair.choose()).isEqualTo(slot);
      fair.notReady(slot);
    }
  }

  /** Out of turn a model moves no clock, and in turn it does although it stands level. */
  @Test
  void shouldStartANewcomerWhereTheLastChosenStarted() {
    FairShare fair = new FairShare(HALF_LIFE, CAP);
    fair.register(0, 3);
    fair.register(1, 1);
    fair.ready(0, new Discipline.Front(0, NO_DEADLINE, 1e6));
    for (int run = 0; run < 5; run++) {
      Saturated.run(fair, 0, 3_000_000, 0);
    }
    fair.ready(1, new Discipline.Front(0, NO_DEADLINE, 1e6));
    assertThat(fair.tag(1)).isEqualTo(4e6);
    fair.notReady(1);
    fair.unregister(1);
    assertThat(fair.tag(1)).isZero();
  }

  @Test
  void shouldRefuseACapOutsideItsRange() {
    for (double cap : new double[] {0, -0.5, 1.01, Double.NaN}) {
      assertThatThrownBy(() -> new FairShare(HALF_LIFE, cap))
          .hasMessage("recency cap " + cap + " is not in (0, 1]");
    }
    for (long halfLife : new long[] {0, -1}) {
      assertThatThrownBy(() -> new FairShare(halfLife, CAP))
          .hasMessage("half-life " + halfLife + " ns is not above 0");
    }
    assertThat(new FairShare(1, 1).name()).isEqualTo("fair");
    assertThat(new FairShare(1, 1).watchesQueues()).isTrue();
  }

  private static double deficit(FairShare fair, int slot) {
    return fair.standing(slot).deficit();
  }

  private static Discipline.Front front(Random random) {
    return new Discipline.Front(0, NO_DEADLINE, 1e5 + random.nextInt(50_000_000));
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

package dev.roundhouse.engine.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class CostEstimateTest {

  @Test
  void shouldAssumeTenMillisecondsOfWhatHasNeverRun() {
    CostEstimate cost = new CostEstimate(0.2);
    assertThat(cost.meanNanos()).isEqualTo(10_000_000);
    assertThat(cost.highNanos()).isEqualTo(10_000_000);
  }

  @Test
  void shouldTakeForGrantedWhatAnEarlierProcessLearnedUntilItIsMeasured() {
    CostEstimate cost = new CostEstimate(1);
    cost.assume(4_000, 9_000);
    assertThat(cost.meanNanos()).isEqualTo(4_000);
    assertThat(cost.highNanos()).isEqualTo(9_000);
    assertThat(cost.measuredNanos()).isEqualTo(CostEstimate.NEVER);
    assertThat(cost.confirmedHighNanos(0)).isZero();
    cost.record(5_000, 7);
    assertThat(cost.meanNanos()).isEqualTo(5_000);
    assertThat(cost.highNanos()).as("the lower of two").isEqualTo(5_000);
    assertThat(cost.measuredNanos()).isEqualTo(7);
    assertThatThrownBy(() -> cost.assume(1, 1)).hasMessageContaining("not replaced");
  }

  @Test
  void shouldRefuseAnAlphaOutsideItsRange() {
    for (double alpha : new double[] {0, -1, 1.1, Double.NaN}) {
      assertThatThrownBy(() -> new CostEstimate(alpha))
          .hasMessage("cost alpha " + alpha + " is not in (0, 1]");
    }
  }

  @Test
  void shouldBeginWithTheFirstRunAndThenFollow() {
    CostEstimate cost = new CostEstimate(0.2);
    cost.record(1_000, 0);
    assertThat(cost.meanNanos()).isEqualTo(1_000);
    cost.record(2_000, 0);
    assertThat(cost.meanNanos()).isCloseTo(1_200, within(1e-6));
    assertThat(cost.highNanos()).isEqualTo(1_000);
  }

  @Test
  void shouldNotLetOneSlowRunAmongManyBeTheHighFigure() {
    CostEstimate cost = new CostEstimate(0.2);
    for (int run = 0; run < 40; run++) {
      cost.record(run == 20 ? 900_000 : 1_000 + run, 0);
    }
    assertThat(cost.highNanos()).isBetween(1_000L, 1_039L);
  }

  @Test
  void shouldNotLetOneSlowRunAmongFewBeTheHighFigureEither() {
    CostEstimate cost = new CostEstimate(0.2);
    cost.record(900_000, 0);
    assertThat(cost.highNanos()).isEqualTo(900_000);
    cost.record(1_000, 0);
    assertThat(cost.highNanos()).isEqualTo(1_000);
    cost.record(1_100, 0);
    assertThat(cost.highNanos()).isEqualTo(1_100);
  }

  @Test
  void shouldLetTheHighFigureExpireWhenNothingConfirmsIt() {
    CostEstimate cost = new CostEstimate(0.2);
    assertThat(cost.confirmedHighNanos(0)).isZero();
    cost.record(5_000, 100);
    assertThat(cost.confirmedHighNanos(100 + CostEstimate.MAX_AGE_NANOS)).isEqualTo(5_000);
    assertThat(cost.confirmedHighNanos(101 + CostEstimate.MAX_AGE_NANOS)).isZero();
    assertThat(cost.highNanos()).isEqualTo(5_000);
  }

  @Test
  void shouldFindTheSecondHighestOfTheLatestRunsWhateverCameBefore() {
    Random random = new Random(11);
    CostEstimate cost = new CostEstimate(0.2);
    List<Long> all = new ArrayList<>();
    for (int run = 0; run < 2_000; run++) {
      long nanos = 1L + random.nextInt(run % 100 < 50 ? 1_000 : 20);
      all.add(nanos);
      cost.record(nanos, 0);
      List<Long> latest = new ArrayList<>(all.subList(Math.max(0, all.size() - 32), all.size()));
      latest.sort(Comparator.reverseOrder());
      assertThat(cost.highNanos())
          .as("seed 11, run %d", run)
          .isEqualTo(latest.get(Math.min(1, latest.size() - 1)));
    }
  }

  @Test
  void shouldRefuseAnAlphaOutOfRange() {
    assertThatThrownBy(() -> new CostEstimate(0)).hasMessageContaining("(0, 1]");
    assertThatThrownBy(() -> new CostEstimate(1.1)).hasMessageContaining("(0, 1]");
  }
}

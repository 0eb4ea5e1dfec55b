package dev.roundhouse.engine.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

class CostEstimateTest {

  @Test
  void shouldAssumeTenMillisecondsOfWhatHasNeverRun() {
    CostEstimate cost = new CostEstimate(0.2);
    assertThat(cost.meanNanos()).isEqualTo(10_000_000);
    assertThat(cost.highNanos()).isEqualTo(10_000_000);
  }

  @Test
  void shouldBeginWithTheFirstRunAndThenFollow() {
    CostEstimate cost = new CostEstimate(0.2);
    cost.record(1_000, 0);
    assertThat(cost.meanNanos()).isEqualTo(1_000);
    cost.record(2_000, 0);
    assertThat(cost.meanNanos()).isCloseTo(1_200, within(1e-6));
    assertThat(cost.highNanos()).isEqualTo(2_000);
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
  void shouldForgetAnAccidentWhenDoubtedButNotTheRule() {
    CostEstimate accident = new CostEstimate(0.2);
    accident.record(1_000, 0);
    accident.record(900_000, 0);
    accident.record(1_100, 0);
    accident.doubt();
    assertThat(accident.highNanos()).isEqualTo(1_100);

    CostEstimate rule = new CostEstimate(0.2);
    for (int run = 0; run < 10; run++) {
      rule.record(50_000, 0);
    }
    for (int doubts = 0; doubts < 100; doubts++) {
      rule.doubt();
    }
    assertThat(rule.highNanos()).isEqualTo(50_000);
  }

  @Test
  void shouldHalveASingleFigureWhenDoubted() {
    CostEstimate cost = new CostEstimate(0.2);
    cost.record(8_000, 0);
    cost.doubt();
    assertThat(cost.highNanos()).isEqualTo(4_000);
  }

  @Test
  void shouldRefuseAnAlphaOutOfRange() {
    assertThatThrownBy(() -> new CostEstimate(0)).hasMessageContaining("(0, 1]");
    assertThatThrownBy(() -> new CostEstimate(1.1)).hasMessageContaining("(0, 1]");
  }
}

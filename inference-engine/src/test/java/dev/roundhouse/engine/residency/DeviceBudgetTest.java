package dev.roundhouse.engine.residency;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DeviceBudgetTest {

  @ParameterizedTest
  @CsvSource({
    "1, 0.1, 0, 0, 900, 900",
    "0.5, 0.1, 0, 0, 500, 500",
    "1, 0.1, 300, 0, 600, 600",
    "1, 0.1, 300, 200, 600, 400",
    "1, 0.1, 300, 600, 600, 0",
    "1, 0.1, 300, 700, 600, 0",
    "1, 0.1, 950, 0, 0, 0",
    "0.9999, 0.0001, 0, 0, 999, 999"
  })
  void shouldLeaveToWeightsWhatFractionWiggleAndScratchLeave(
      double fraction, double wiggle, long scratch, long pinned, long pool, long rest) {
    DeviceBudget budget = new DeviceBudget(1000, fraction, wiggle, scratch);
    assertThat(budget.poolBytes()).isEqualTo(pool);
    assertThat(budget.cacheBytes(pinned)).isEqualTo(rest);
    assertThat(budget.isOvercommitted(pinned)).isEqualTo(pinned > pool);
  }
}

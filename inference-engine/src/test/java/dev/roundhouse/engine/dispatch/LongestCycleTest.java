package dev.roundhouse.engine.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class LongestCycleTest {
  @Test
  void shouldKeepTheLongestTimeBetweenTwoChoicesWithWork() {
    LongestCycle cycle = new LongestCycle();
    cycle.began(100);
    assertThat(cycle.longestNanos()).isZero();
    cycle.began(105);
    cycle.began(107);
    assertThat(cycle.longestNanos()).isEqualTo(5);
    cycle.idle();
    cycle.began(1_000);
    assertThat(cycle.longestNanos()).as("there was no work between").isEqualTo(5);
    cycle.began(1_006);
    assertThat(cycle.longestNanos()).isEqualTo(6);
  }
}

package dev.roundhouse.engine.schedule;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class RunningSumTest {
  private final RunningSum sum = new RunningSum();

  @Test
  void shouldFollowWhatComesAndGoes() {
    sum.add(3);
    sum.add(4);
    sum.add(-3);
    assertThat(sum.value()).isEqualTo(4);
    assertThat(sum.isStale(1)).isFalse();
  }

  @Test
  void shouldBeSummedAfreshWhenALargeTermLeaves() {
    sum.add(1);
    sum.add(2_000);
    assertThat(sum.isStale(2)).isFalse();
    sum.add(-2_000);
    assertThat(sum.isStale(1)).isTrue();
    sum.restart(1);
    assertThat(sum.value()).isEqualTo(1);
    assertThat(sum.isStale(1)).isFalse();
    sum.add(-0.9985);
    assertThat(sum.isStale(1)).isFalse();
    sum.add(-0.001);
    assertThat(sum.isStale(1)).isTrue();
  }

  @Test
  void shouldBeSummedAfreshNowAndThen() {
    for (int change = 0; change < 1_000; change++) {
      sum.add(1);
    }
    assertThat(sum.isStale(10)).isFalse();
    sum.add(1);
    assertThat(sum.isStale(10)).isTrue();
    assertThat(sum.isStale(1_001)).isFalse();
    assertThat(sum.isStale(1_000)).isTrue();
    sum.restart(1_001);
    assertThat(sum.isStale(10)).isFalse();
  }
}

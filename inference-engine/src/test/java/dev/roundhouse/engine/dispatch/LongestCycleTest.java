package dev.roundhouse.engine.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LongestCycleTest {
  private static final long WINDOW = 1L << 35;

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

  /** Clocks may begin anywhere, below 0 too. */
  @ParameterizedTest
  @ValueSource(longs = {0, 1_000 * WINDOW, -1_000 * WINDOW, -1 * WINDOW})
  void shouldForgetWhatWasLongOnceItIsOld(long start) {
    LongestCycle cycle = new LongestCycle();
    cycle.began(start);
    cycle.began(start + 900);
    cycle.began(start + 1_000);
    assertThat(cycle.recentNanos(start + 1_000)).isEqualTo(900);
    assertThat(cycle.recentNanos(start + WINDOW)).as("it was in the window before").isEqualTo(900);
    assertThat(cycle.recentNanos(start + 2 * WINDOW)).isZero();

    cycle.idle();
    cycle.began(start + 2 * WINDOW);
    cycle.began(start + 2 * WINDOW + 7);
    assertThat(cycle.recentNanos(start + 2 * WINDOW + 7)).as("in the same cell").isEqualTo(7);
    assertThat(cycle.longestNanos()).isEqualTo(900);
  }
}

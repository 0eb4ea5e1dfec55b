package dev.roundhouse.engine.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** How late sleeps end: near the worst of late, which fades. */
class WakeLatenessTest {

  @Test
  void shouldRiseAtOnceAndFadeSlowly() {
    WakeLateness lateness = new WakeLateness();
    assertThat(lateness.nanos()).isEqualTo(WakeLateness.AT_FIRST_NANOS);
    lateness.woke(100_000);
    assertThat(lateness.nanos()).isEqualTo(100_000);
    lateness.woke(4_000);
    assertThat(lateness.nanos()).isEqualTo(97_000);
    for (int i = 0; i < 500; i++) {
      lateness.woke(4_000);
    }
    assertThat(lateness.nanos()).isBetween(4_000L, 4_100L);
  }

  @Test
  void shouldTakeNoSingleSleepForTheRule() {
    WakeLateness lateness = new WakeLateness();
    lateness.woke(1_000_000_000);
    assertThat(lateness.nanos()).isEqualTo(WakeLateness.MOST_NANOS);
    lateness.woke(-5);
    assertThat(lateness.nanos()).isBetween(0L, WakeLateness.MOST_NANOS - 1);
  }
}

package dev.roundhouse.engine.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

class DecayTest {
  private static final long HALF_LIFE = 1_000_000;

  @Test
  void shouldCountTwiceAsMuchAfterEveryHalfLife() {
    Decay decay = new Decay(HALF_LIFE);
    long start = 77;
    assertThat(decay.rebase(start)).isEqualTo(1);
    assertThat(decay.factor(start)).isEqualTo(1);
    assertThat(decay.factor(start + HALF_LIFE)).isCloseTo(2, within(1e-9));
    assertThat(decay.factor(start + 3 * HALF_LIFE)).isCloseTo(8, within(1e-9));
    assertThat(decay.factor(start)).as("a moment before").isCloseTo(1, within(1e-9));
  }

  @Test
  void shouldBringFiguresBackToSizeBeforeTheyOverflow() {
    Decay decay = new Decay(HALF_LIFE);
    decay.rebase(0);
    assertThat(decay.rebase(256 * HALF_LIFE)).isEqualTo(1);
    double before = decay.factor(256 * HALF_LIFE);
    double shrink = decay.rebase(257 * HALF_LIFE);
    assertThat(before * shrink).isCloseTo(0.5, within(1e-9));
    assertThat(decay.factor(257 * HALF_LIFE)).isEqualTo(1);
    assertThat(decay.factor(258 * HALF_LIFE)).isCloseTo(2, within(1e-9));
    assertThat(decay.rebase(258 * HALF_LIFE)).isEqualTo(1);
  }
}

package dev.roundhouse.gateway.placement;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

class EwmaTest {

  @Test
  void shouldTakeTheFirstSampleAsItIs() {
    assertThat(Ewma.UNMEASURED.isMeasured()).isFalse();
    assertThat(Ewma.UNMEASURED.with(3, 1, 100)).isEqualTo(new Ewma(3));
  }

  @Test
  void shouldForgetHalfInAHalfLifeHoweverItIsDivided() {
    Ewma once = new Ewma(1).with(0, 300, 300);
    assertThat(once.value()).isCloseTo(0.5, within(1e-12));
    Ewma steps = new Ewma(1);
    for (int i = 0; i < 30; i++) {
      steps = steps.with(0, 10, 300);
    }
    assertThat(steps.value()).isCloseTo(once.value(), within(1e-12));
  }

  @Test
  void shouldChangeNothingWhenNothingWasComputed() {
    assertThat(new Ewma(2).with(7, 0, 300)).isEqualTo(new Ewma(2));
  }
}

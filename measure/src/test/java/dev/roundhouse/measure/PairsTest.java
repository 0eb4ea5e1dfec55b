package dev.roundhouse.measure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class PairsTest {

  @Test
  void shouldTakeMediansOfSidesAndOfRatiosWhenPairsAreOdd() {
    Pairs pairs = new Pairs();
    pairs.add(10, 10);
    pairs.add(30, 10);
    pairs.add(40, 20);
    assertThat(pairs.compare()).isEqualTo(new Comparison(30, 10, 2, 1, 3));
  }

  @Test
  void shouldAverageTheMiddleTwoWhenPairsAreEven() {
    Pairs pairs = new Pairs();
    pairs.add(10, 10);
    pairs.add(20, 10);
    assertThat(pairs.compare()).isEqualTo(new Comparison(15, 10, 1.5, 1, 2));
  }

  @Test
  void shouldKeepTheRatioWhenASlowMinuteHitsBothSides() {
    Pairs pairs = new Pairs();
    pairs.add(12, 10);
    pairs.add(120, 100);
    pairs.add(12, 10);
    assertThat(pairs.compare().ratio()).isEqualTo(1.2);
  }

  @Test
  void shouldRefuseASampleOfNothing() {
    Pairs pairs = new Pairs();
    assertThatThrownBy(() -> pairs.add(0, 1)).hasMessageContaining("measure for longer");
    assertThatThrownBy(() -> pairs.add(1, Double.NaN)).hasMessageContaining("above 0");
  }

  @Test
  void shouldRefuseToCompareWhenThereIsNoPair() {
    assertThatThrownBy(() -> new Pairs().compare()).isInstanceOf(IllegalStateException.class);
  }
}

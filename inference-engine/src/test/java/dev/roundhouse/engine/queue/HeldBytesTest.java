package dev.roundhouse.engine.queue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class HeldBytesTest {

  @Test
  void shouldGiveOutNoMoreThanTheLimitAndTakeBackFromEitherSide() {
    HeldBytes bytes = new HeldBytes(100);
    assertThat(bytes.take(60)).isTrue();
    assertThat(bytes.take(41)).isFalse();
    assertThat(bytes.take(40)).isTrue();
    assertThat(bytes.held()).isEqualTo(100);
    assertThat(bytes.take(1)).isFalse();
    bytes.giveBack(40);
    bytes.giveBackOnDispatch(60);
    assertThat(bytes.held()).isZero();
    assertThat(bytes.take(100)).isTrue();
  }

  @Test
  void shouldNotOverflowWhenTheLimitIsAsLargeAsCanBe() {
    HeldBytes bytes = new HeldBytes(Long.MAX_VALUE);
    assertThat(bytes.take(Long.MAX_VALUE)).isTrue();
    assertThat(bytes.take(1)).isFalse();
    bytes.giveBack(Long.MAX_VALUE);
    assertThat(bytes.take(1)).isTrue();
  }

  @Test
  void shouldRefuseALimitThatLetsNothingThrough() {
    assertThatThrownBy(() -> new HeldBytes(0)).hasMessageContaining("limit 0");
  }
}

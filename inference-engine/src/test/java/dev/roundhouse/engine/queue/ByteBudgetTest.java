package dev.roundhouse.engine.queue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.observe.Ledger;
import dev.roundhouse.engine.thread.OwnerThread;
import org.junit.jupiter.api.Test;

class ByteBudgetTest {

  @Test
  void shouldGiveOutNoMoreThanTheLimitAndTakeBackFromEitherSide() {
    ByteBudget bytes = new ByteBudget(100, "a limit");
    assertThat(bytes.take(60)).isTrue();
    assertThat(bytes.take(41)).isFalse();
    assertThat(bytes.take(40)).isTrue();
    assertThat(bytes.held()).isEqualTo(100);
    assertThat(bytes.take(1)).isFalse();
    bytes.giveBack(40);
    bytes.giveBack(60, Ledger.ownedBy(new OwnerThread()));
    assertThat(bytes.held()).isZero();
    assertThat(bytes.take(100)).isTrue();
  }

  @Test
  void shouldNotOverflowWhenTheLimitIsAsLargeAsCanBe() {
    ByteBudget bytes = new ByteBudget(Long.MAX_VALUE, "a limit");
    assertThat(bytes.take(Long.MAX_VALUE)).isTrue();
    assertThat(bytes.take(1)).isFalse();
    bytes.giveBack(Long.MAX_VALUE);
    assertThat(bytes.take(1)).isTrue();
  }

  @Test
  void shouldRefuseALimitThatLetsNothingThrough() {
    assertThatThrownBy(() -> new ByteBudget(0, "a limit"))
        .hasMessageContaining("0 bytes is not above 0");
  }
}

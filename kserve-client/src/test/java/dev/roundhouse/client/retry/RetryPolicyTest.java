package dev.roundhouse.client.retry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class RetryPolicyTest {
  private static final long MS = 1_000_000;
  private static final double ALL = Math.nextDown(1.0);

  private final RetryPolicy policy =
      RetryPolicy.DEFAULT.withWaits(Duration.ofMillis(100), 2, Duration.ofMillis(350));

  @Test
  void shouldGrowTheLongestWaitUpToItsLimit() {
    assertThat(policy.waitNanos(1, Long.MAX_VALUE, ALL)).isBetween(100 * MS - 1, 100 * MS);
    assertThat(policy.waitNanos(2, Long.MAX_VALUE, ALL)).isBetween(200 * MS - 1, 200 * MS);
    assertThat(policy.waitNanos(3, Long.MAX_VALUE, ALL)).isBetween(350 * MS - 1, 350 * MS);
    assertThat(policy.waitNanos(9, Long.MAX_VALUE, ALL)).isBetween(350 * MS - 1, 350 * MS);
  }

  @Test
  void shouldDrawFromZero() {
    assertThat(policy.waitNanos(3, Long.MAX_VALUE, 0)).isZero();
    assertThat(policy.waitNanos(1, Long.MAX_VALUE, 0.25)).isEqualTo(25 * MS);
  }

  @Test
  void shouldNotWaitBeyondTheDeadlineNorBeginWithTooLittleLeft() {
    assertThat(policy.waitNanos(1, 100 * MS, 0.5)).isEqualTo(50 * MS);
    assertThat(policy.waitNanos(1, 99 * MS, 0.5)).isNegative();
    assertThat(policy.waitNanos(1, 49 * MS, 0)).isNegative();
    assertThat(policy.waitNanos(1, -5, 0)).isNegative();
  }

  @Test
  void shouldStopAfterTheLastAttempt() {
    RetryPolicy two = policy.withMaxAttempts(2);
    assertThat(two.waitNanos(1, Long.MAX_VALUE, 0)).isZero();
    assertThat(two.waitNanos(2, Long.MAX_VALUE, 0)).isNegative();
    assertThat(RetryPolicy.NONE.waitNanos(1, Long.MAX_VALUE, 0)).isNegative();
  }

  @Test
  void shouldRefuseWhatMakesNoSense() {
    assertThatThrownBy(() -> policy.withMaxAttempts(0))
        .hasMessage("maxAttempts of a retry policy is 0; it must be 1 or more");
    assertThatThrownBy(() -> policy.withWaits(Duration.ofSeconds(2), 2, Duration.ofSeconds(1)))
        .hasMessageContaining("longestWait");
    assertThatThrownBy(() -> policy.withBudget(-1, 1)).hasMessageContaining("ratio");
  }

  @Test
  void shouldAllowSoManyRetriesForEachCall() {
    RetryBudget budget = new RetryBudget(policy.withBudget(0.2, 2));
    assertThat(budget.take()).isTrue();
    assertThat(budget.take()).isTrue();
    assertThat(budget.take()).as("the reserve is used up").isFalse();
    for (int call = 0; call < 4; call++) {
      budget.earn();
      assertThat(budget.take()).isFalse();
    }
    budget.earn();
    assertThat(budget.take()).as("five calls earn one").isTrue();
    assertThat(budget.take()).isFalse();
  }

  @Test
  void shouldSaveUpNoMoreThanTheReserve() {
    RetryBudget budget = new RetryBudget(policy.withBudget(1, 2));
    for (int call = 0; call < 100; call++) {
      budget.earn();
    }
    assertThat(budget.take()).isTrue();
    assertThat(budget.take()).isTrue();
    assertThat(budget.take()).isFalse();
  }
}

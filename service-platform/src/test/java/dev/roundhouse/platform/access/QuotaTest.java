package dev.roundhouse.platform.access;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class QuotaTest {
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

  private long now = -7 * SECOND;

  @Test
  void shouldLetASecondsWorthThroughAtOnceAndThenAsManyAsASecondHas() {
    Quota quota = new Quota(10, () -> now);
    for (int i = 0; i < 10; i++) {
      assertThat(quota.take(1)).isZero();
    }
    long wait = quota.take(1);
    assertThat(wait).isPositive().isLessThanOrEqualTo(SECOND / 10);
    now += wait;
    assertThat(quota.take(1)).isZero();
    assertThat(quota.take(1)).isPositive();
    now += 60 * SECOND;
    for (int i = 0; i < 10; i++) {
      assertThat(quota.take(1)).isZero();
    }
    assertThat(quota.take(1)).isPositive();
  }

  @Test
  void shouldHaveALargePieceMadeUpForBeforeTheNext() {
    Quota quota = new Quota(1_000, () -> now);
    assertThat(quota.waitNanos()).isZero();
    quota.add(5_000);
    assertThat(quota.waitNanos()).isBetween(4 * SECOND, 4 * SECOND + 1);
    now += 4 * SECOND + 1;
    assertThat(quota.waitNanos()).isZero();
  }

  @Test
  void shouldTakeLessThanOneASecond() {
    Quota quota = new Quota(0.1, () -> now);
    assertThat(quota.take(1)).isZero();
    assertThat(quota.take(1)).isEqualTo(10 * SECOND);
    now += 10 * SECOND;
    assertThat(quota.take(1)).isZero();
  }
}

package dev.roundhouse.engine.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.time.ManualClock;
import org.junit.jupiter.api.Test;

class LinkTimeTest {
  private final ManualClock clock = new ManualClock(1_000);
  private final LinkTime time = new LinkTime(clock);

  @Test
  void shouldCountTheTimeInWhichAnythingIsOnTheLink() {
    clock.advance(5);
    assertThat(time.nanos()).isZero();
    time.busy(clock.nanoTime());
    clock.advance(3);
    time.busy(clock.nanoTime()); // a second load beside the first
    clock.advance(4);
    assertThat(time.nanos()).as("while it goes on").isEqualTo(7);
    time.free(clock.nanoTime());
    clock.advance(100);
    assertThat(time.nanos()).isEqualTo(7);
    time.busy(clock.nanoTime());
    clock.advance(2);
    time.free(clock.nanoTime());
    assertThat(time.nanos()).isEqualTo(9);
  }

  @Test
  void shouldNotFallWhenAnEndIsSeenLate() {
    time.busy(clock.nanoTime());
    clock.advance(10);
    assertThat(time.nanos()).isEqualTo(10);
    time.free(clock.nanoTime() - 4);
    assertThat(time.nanos()).isEqualTo(10);
    time.busy(clock.nanoTime());
    clock.advance(5);
    assertThat(time.nanos()).isEqualTo(11);
  }
}

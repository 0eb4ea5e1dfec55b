package dev.roundhouse.engine.dispatch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

/** Since when the device is busy with a call or a run, and who goes on when it does not end. */
class DeviceCallsTest {
  private final DeviceCalls calls = new DeviceCalls();

  @Test
  void shouldSaySinceWhenTheEarlierOfACallAndARunHasBeenUnderWay() {
    assertThat(calls.sinceNanos()).isEqualTo(DeviceCalls.NONE);
    calls.runStarted(20);
    assertThat(calls.sinceNanos()).isEqualTo(20);
    calls.enter(30);
    assertThat(calls.sinceNanos()).isEqualTo(20);
    calls.runEnded();
    assertThat(calls.sinceNanos()).isEqualTo(30);
    calls.leave();
    assertThat(calls.sinceNanos()).isEqualTo(DeviceCalls.NONE);
  }

  @Test
  void shouldBeSeizedOnceAndOnlyInACall() {
    assertThat(calls.seize()).as("in no call").isFalse();
    calls.enter(1);
    calls.leave();
    assertThat(calls.seize()).as("the call has come back").isFalse();
    calls.enter(2);
    assertThat(calls.seize()).isTrue();
    assertThat(calls.seize()).isFalse();
    assertThatThrownBy(calls::leave).isInstanceOf(DeviceCalls.SeizedException.class);
  }
}

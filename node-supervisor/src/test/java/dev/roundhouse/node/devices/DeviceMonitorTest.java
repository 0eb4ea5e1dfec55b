package dev.roundhouse.node.devices;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class DeviceMonitorTest {
  private static final Map<String, DeviceMemory> FULL = Map.of("0", new DeviceMemory(9, 10));

  private long now = 100;

  @Test
  void shouldTellWhatWasReadAndSinceWhen() {
    DeviceMonitor monitor =
        new DeviceMonitor(
            List.of("0"),
            ids -> {
              now = 200; // the driver took that long
              return FULL;
            },
            () -> now);
    assertThat(monitor.latest().isSince(0)).isFalse();
    monitor.look();
    assertThat(monitor.latest().memory()).isEqualTo(FULL);
    assertThat(monitor.latest().isSince(100)).isTrue();
    assertThat(monitor.latest().isSince(101)).isFalse();
  }

  @Test
  void shouldForgetWhatItCannotReadAnyMore() {
    boolean[] broken = {false};
    DeviceMonitor monitor =
        new DeviceMonitor(
            List.of("0"),
            ids -> {
              if (broken[0]) {
                throw new IllegalStateException("the driver is gone");
              }
              return FULL;
            },
            () -> now);
    monitor.look();
    broken[0] = true;
    monitor.look();
    assertThat(monitor.latest().memory()).isEmpty();
    assertThat(monitor.latest().isSince(100)).isTrue();
  }

  @Test
  void shouldLookAgainAndAgainUntilItIsClosed() throws Exception {
    CountDownLatch three = new CountDownLatch(3);
    try (DeviceMonitor monitor =
        new DeviceMonitor(
            List.of("0"),
            ids -> {
              three.countDown();
              return FULL;
            },
            System::nanoTime)) {
      monitor.start(Duration.ofMillis(1));
      assertThat(three.await(50, TimeUnit.SECONDS)).isTrue();
    }
  }
}

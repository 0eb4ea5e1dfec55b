package dev.roundhouse.node.process;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.node.devices.DeviceMemory;
import dev.roundhouse.node.devices.DeviceMonitor;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class MemoryGateTest {
  private Map<String, DeviceMemory> memory = Map.of();
  private long now = 1_000;
  private final DeviceMonitor monitor =
      new DeviceMonitor(List.of("GPU-a"), ids -> memory, () -> now);
  private final MemoryGate gate = gate(Duration.ofSeconds(30));

  @Test
  void shouldOpenWhenTheMemoryIsFree() {
    full(90);
    assertThat(mayStart(1_000)).isFalse();
    now += 1_000;
    full(16);
    assertThat(mayStart(1_000)).isFalse();
    full(15);
    assertThat(mayStart(1_000)).isTrue();
  }

  @Test
  void shouldNotBelieveWhatWasReadBeforeItBeganToWait() {
    full(0);
    now += 1;
    assertThat(mayStart(now)).isFalse();
    monitor.look();
    assertThat(mayStart(now)).isTrue();
  }

  @Test
  void shouldOpenInTheEndHoweverFullItIs() {
    full(90);
    now = 1_000 + TimeUnit.SECONDS.toNanos(30) - 1;
    assertThat(mayStart(1_000)).isFalse();
    now++;
    assertThat(mayStart(1_000)).isTrue();
  }

  @Test
  void shouldOpenInTheEndWhenNothingIsEverRead() {
    assertThat(mayStart(1_000)).isFalse();
    now = 1_000 + TimeUnit.SECONDS.toNanos(30);
    assertThat(mayStart(1_000)).isTrue();
  }

  @Test
  void shouldNotWaitForADeviceThatSaysNothing() {
    monitor.look();
    assertThat(mayStart(1_000)).isTrue();
  }

  @Test
  void shouldNotWaitWhenItIsTurnedOff() {
    full(90);
    assertThat(gate(Duration.ZERO).mayStart(1_000, now)).isTrue();
  }

  private boolean mayStart(long since) {
    return gate.mayStart(since, now);
  }

  private void full(long percent) {
    memory = Map.of("GPU-a", new DeviceMemory(percent, 100));
    monitor.look();
  }

  private MemoryGate gate(Duration patience) {
    return new MemoryGate("worker0", "GPU-a", monitor, patience, 15);
  }
}

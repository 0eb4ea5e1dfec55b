package dev.roundhouse.engine.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.device.ReferenceFunction;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.device.SimulatedDeviceOptions.Pinning;
import dev.roundhouse.engine.time.NanoClock;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

class StagingTest {
  private final Staging staging = new Staging(0);

  @Test
  void shouldAlignToWhatDevicesReadInPlace() {
    assertThat(Staging.align(0)).isZero();
    assertThat(Staging.align(1)).isEqualTo(64);
    assertThat(Staging.align(64)).isEqualTo(64);
    assertThat(Staging.align(65)).isEqualTo(128);
    Staging.Memory memory = Staging.Memory.allocate(65);
    staging.offer(memory);
    assertThat(staging.memory().address() % 64).isZero();
    staging.close();
  }

  @Test
  void shouldGrowOnlyWhenItIsToldTo() {
    MemorySegment before = staging.memory();
    long bytes = staging.byteSize();
    int generation = staging.generation();
    staging.grow();
    assertThat(staging.memory()).as("nothing was offered").isSameAs(before);
    assertThat(staging.generation()).isEqualTo(generation);
    staging.offer(Staging.Memory.allocate(2 * bytes));
    assertThat(staging.byteSize()).as("something may lie in it").isEqualTo(bytes);
    staging.grow();
    assertThat(staging.byteSize()).isEqualTo(2 * bytes);
    assertThat(staging.generation())
        .as("slices made before are of no use")
        .isGreaterThan(generation);
    assertThat(before.scope().isAlive()).isFalse();
    MemorySegment grown = staging.memory();
    staging.grow();
    assertThat(staging.memory()).as("once for each offer").isSameAs(grown);
    assertThat(grown.scope().isAlive()).isTrue();
    staging.close();
    assertThat(grown.scope().isAlive()).isFalse();
  }

  @Test
  void shouldKeepTheLargestOfWhatIsOfferedAndFreeTheRest() {
    long bytes = staging.byteSize();
    Staging.Memory small = Staging.Memory.allocate(bytes);
    staging.offer(small);
    assertThatThrownBy(small::close)
        .as("freed: it is no larger")
        .isInstanceOf(IllegalStateException.class);
    Staging.Memory larger = Staging.Memory.allocate(bytes + 64);
    Staging.Memory largest = Staging.Memory.allocate(bytes + 128);
    staging.offer(larger);
    staging.offer(largest);
    assertThatThrownBy(larger::close).as("freed").isInstanceOf(IllegalStateException.class);
    staging.offer(Staging.Memory.allocate(bytes + 64));
    staging.grow();
    assertThat(staging.byteSize()).isEqualTo(bytes + 128);
    staging.close();
    assertThatThrownBy(largest::close).as("freed").isInstanceOf(IllegalStateException.class);
  }

  @Test
  void shouldFreeWhatWasOfferedAndNeverUsed() {
    Staging.Memory offered = Staging.Memory.allocate(2 * staging.byteSize());
    staging.offer(offered);
    MemorySegment memory = staging.memory();
    staging.close();
    assertThat(memory.scope().isAlive()).isFalse();
    assertThatThrownBy(offered::close).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void shouldPinItsMemoryAndUnpinItBeforeItIsFreed() {
    SimulatedDevice device =
        new SimulatedDevice(
            SimulatedDeviceOptions.instant(ReferenceFunction.ZERO).withPinning(Pinning.REQUIRED),
            NanoClock.SYSTEM);
    Staging pinned = new Staging(0, device);
    assertThat(device.openHandles()).isEqualTo(1);
    pinned.offer(Staging.Memory.allocate(5000, device));
    assertThat(pinned.memory().byteSize()).isEqualTo(4096);
    pinned.grow();
    assertThat(pinned.memory().byteSize()).as("whole pages").isEqualTo(8192);
    assertThat(device.openHandles()).as("the smaller one is not pinned any more").isEqualTo(1);
    pinned.offer(Staging.Memory.allocate(5000, device));
    assertThat(device.openHandles()).as("no larger: not kept").isEqualTo(1);
    pinned.close();
    assertThat(device.openHandles()).isZero();
    device.close();
    staging.close();
  }

  @Test
  void shouldSayThatThereIsNoMemory() {
    assertThatThrownBy(() -> Staging.Memory.allocate(1L << 60))
        .isInstanceOf(OutOfMemoryError.class);
    staging.close();
  }
}

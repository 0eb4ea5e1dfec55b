package dev.roundhouse.engine.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.time.ManualClock;
import dev.roundhouse.engine.time.NanoClock;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class SimulatedDeviceTest {
  private static final TensorType ROW = TensorType.of(DType.F32, 1, 250);

  private final ManualClock clock = new ManualClock();

  @Test
  void shouldTakeTheTimeThatLinkAndExecutionTake() {
    SimulatedDevice device =
        new SimulatedDevice(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE)
                .withLinkBytesPerSecond(1_000_000_000)
                .withExecutionNanos(program -> 5_000),
            clock);
    DeviceProgram program = device.compile(doubling());
    DeviceBuffer x = upload(device);
    Execution first = device.execute(program, new DeviceBuffer[] {x});
    Execution second = device.execute(program, new DeviceBuffer[] {x});
    clock.advance(5_999); // 1000 bytes take 1000 ns to cross the link, the run 5000
    assertThat(first.isDone()).isFalse();
    clock.advance(1);
    assertThat(first.isDone()).isTrue();
    assertThat(second.isDone()).isFalse();
    second.await();
    assertThat(clock.nanoTime()).isEqualTo(11_000);
    first.close();
    second.close();
    x.close();
    program.close();
    device.close();
  }

  @Test
  void shouldCallBackFromTheCallThatNoticesTheEndWhenTheClockStandsStill() {
    SimulatedDevice device =
        new SimulatedDevice(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE).withExecutionNanos(p -> 5_000),
            clock);
    AtomicInteger calls = new AtomicInteger();
    try (DeviceProgram program = device.compile(doubling());
        DeviceBuffer x = upload(device);
        Execution run = device.execute(program, new DeviceBuffer[] {x})) {
      run.onDone(calls::incrementAndGet);
      clock.advance(4_999);
      assertThat(run.isDone()).isFalse();
      clock.advance(1);
      assertThat(calls).hasValue(0);
      assertThat(run.isDone()).isTrue();
      assertThat(calls).hasValue(1);
      run.await();
      assertThat(calls).hasValue(1);
    }
  }

  @Test
  void shouldCallBackByItselfWhenTheClockIsTheSystems() throws Exception {
    SimulatedDevice device =
        new SimulatedDevice(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE).withExecutionNanos(p -> 2_000_000),
            NanoClock.SYSTEM);
    try (DeviceProgram program = device.compile(doubling());
        DeviceBuffer x = upload(device);
        Execution run = device.execute(program, new DeviceBuffer[] {x})) {
      CompletableFuture<Boolean> told = new CompletableFuture<>();
      run.onDone(() -> told.complete(run.isDone()));
      assertThat(told.get(20, TimeUnit.SECONDS)).isTrue();
    }
  }

  @Test
  void shouldRefuseWhatDoesNotFitInMemoryAndSayHowMuchIsInUse() {
    SimulatedDevice device =
        new SimulatedDevice(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE).withMemoryBytes(1_500), clock);
    DeviceBuffer x = upload(device);
    assertThatThrownBy(() -> upload(device))
        .isInstanceOfSatisfying(
            DeviceException.class,
            e -> assertThat(e.code()).isEqualTo(DeviceException.Code.OUT_OF_MEMORY))
        .hasMessageContaining("1000 bytes wanted, 1000 of 1500 in use");
    x.close();
    upload(device).close();
    assertThat(device.memory().inUse()).hasValue(0);
    assertThat(device.memory().peak()).hasValue(1_000);
  }

  private static ProgramSource doubling() {
    return new ProgramSource(
        "double", TestBundle.doublingProgram(1, 250).getBytes(StandardCharsets.UTF_8));
  }

  private static DeviceBuffer upload(Device device) {
    return device.upload(ROW, MemorySegment.ofArray(new byte[1_000]), Device.HostMemory.COPY);
  }
}

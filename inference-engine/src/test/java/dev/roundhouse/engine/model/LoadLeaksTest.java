package dev.roundhouse.engine.model;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.SteppedEngine;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.testing.FaultyDevice;
import dev.roundhouse.engine.testing.TestImage;
import dev.roundhouse.engine.time.ManualClock;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class LoadLeaksTest {
  static Stream<Supplier<Throwable>> faults() {
    return Stream.of(
        () -> new OutOfMemoryError("for the test"),
        () -> new DeviceException(DeviceException.Code.INTERNAL, "for the test"),
        () -> new IllegalStateException("for the test"));
  }

  @ParameterizedTest
  @MethodSource("faults")
  void shouldFreeEverythingWhateverIsThrownAtWhateverStepOfALoad(Supplier<Throwable> fault) {
    ManualClock clock = new ManualClock(0);
    SimulatedDevice simulated =
        new SimulatedDevice(SimulatedDeviceOptions.instant((program, in, out) -> {}), clock);
    FaultyDevice device = new FaultyDevice(simulated);
    int steps = 0;
    try (SteppedEngine stepped =
        SteppedEngine.open(EngineOptions.builder().clock(clock).build(), device)) {
      boolean failed = true;
      while (failed) {
        device.arm(++steps, fault);
        ModelStatus status =
            stepped.engine().admin().load(TestImage.weighted("m", "1", device::call)).join();
        failed = device.hasFailed();
        if (failed) {
          assertThat(status.state()).as("step %d", steps).isEqualTo(ModelState.FAILED);
          assertThat(status.reason()).contains("for the test");
          assertThat(simulated.openHandles()).as("handles after step %d", steps).isZero();
          assertThat(stepped.engine().reports().residentWeightBytes()).isZero();
          assertThat(stepped.engine().isReady()).isTrue();
        } else {
          assertThat(status.state()).isEqualTo(ModelState.READY);
        }
      }
      // 2 programs compiled and looked at, 2 weights read and uploaded, 6 runs: all were hit.
      assertThat(steps).isGreaterThan(16);
    }
    assertThat(simulated.openHandles()).isZero();
  }

  @ParameterizedTest
  @MethodSource("faults")
  void shouldKeepWhatServesWhateverIsThrownAtWhateverStepOfItsReplacement(
      Supplier<Throwable> fault) {
    ManualClock clock = new ManualClock(0);
    SimulatedDevice simulated =
        new SimulatedDevice(SimulatedDeviceOptions.instant((program, in, out) -> {}), clock);
    FaultyDevice device = new FaultyDevice(simulated);
    try (SteppedEngine stepped =
        SteppedEngine.open(EngineOptions.builder().clock(clock).build(), device)) {
      stepped.engine().admin().load(TestImage.weighted("m", "1", () -> {})).join();
      int handles = simulated.openHandles();
      int step = 0;
      while (true) {
        device.arm(++step, fault);
        stepped.engine().admin().load(TestImage.weighted("m", "1", device::call)).join();
        if (!device.hasFailed()) {
          break;
        }
        ModelStatus published = stepped.engine().model("m").orElseThrow();
        assertThat(published.state()).as("step %d", step).isEqualTo(ModelState.READY);
        assertThat(published.reason()).contains("still serves", "for the test");
        assertThat(simulated.openHandles()).as("handles after step %d", step).isEqualTo(handles);
      }
      while (stepped.hasWork()) {
        stepped.step();
      }
      assertThat(stepped.engine().model("m").orElseThrow().reason()).isEmpty();
      assertThat(simulated.openHandles()).isEqualTo(handles);
    }
  }
}

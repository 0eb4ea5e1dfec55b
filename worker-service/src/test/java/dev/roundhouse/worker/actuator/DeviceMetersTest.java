package dev.roundhouse.worker.actuator;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.compile.Compilation;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceMemory;
import dev.roundhouse.engine.device.ForwardingDevice;
import dev.roundhouse.engine.device.ReferenceFunction;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.time.NanoClock;
import dev.roundhouse.worker.transport.Transports;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.assertj.core.api.MapAssert;
import org.junit.jupiter.api.Test;
import org.springframework.boot.actuate.info.Info;

class DeviceMetersTest {
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();

  @Test
  void shouldShowWhatTheDeviceCounts() {
    bind(new DeviceMemory(known(1), known(2), known(3), known(0)));
    assertThat(value("in.use")).isEqualTo(1);
    assertThat(value("limit")).isEqualTo(2);
    assertThat(value("peak")).isEqualTo(3);
    assertThat(value("largest.free.block")).as("known to be none").isZero();
  }

  @Test
  void shouldHaveNoMeterForWhatTheDeviceDoesNotCount() {
    bind(new DeviceMemory(known(1), OptionalLong.empty(), OptionalLong.empty(), known(4)));
    assertThat(meters.getMeters())
        .extracting(meter -> meter.getId().getName())
        .containsExactlyInAnyOrder(
            "roundhouse.device.memory.in.use", "roundhouse.device.memory.largest.free.block");
    SimpleMeterRegistry none = new SimpleMeterRegistry();
    new DeviceMeters(new Counting(DeviceMemory.UNKNOWN)).bindTo(none);
    assertThat(none.getMeters()).extracting(Meter::getId).isEmpty();
  }

  @Test
  void shouldShowNoNumberOnceTheDeviceIsGone() {
    Counting device = bind(new DeviceMemory(known(1), known(2), known(3), known(4)));
    device.gone = true;
    assertThat(value("in.use")).isNaN();
    assertMemoryOf(device).containsEntry("inUse", null);
  }

  @Test
  void shouldTellTheSameOnTheInfoPage() {
    Counting device =
        new Counting(new DeviceMemory(known(1), known(2), OptionalLong.empty(), known(4)));
    assertMemoryOf(device)
        .containsEntry("inUse", 1L)
        .containsEntry("limit", 2L)
        .containsEntry("peak", null)
        .containsEntry("largestFreeBlock", 4L);
  }

  private static MapAssert<Object, Object> assertMemoryOf(Device device) {
    Info.Builder info = new Info.Builder();
    Compilation compilation = new Compilation(device, Optional.empty(), Optional.empty());
    new WorkerInfo(device, compilation, "auto", new Transports(List.of())).contribute(info);
    return assertThat(info.build().getDetails())
        .extractingByKey("device", InstanceOfAssertFactories.MAP)
        .extractingByKey("memory", InstanceOfAssertFactories.MAP);
  }

  private Counting bind(DeviceMemory memory) {
    Counting device = new Counting(memory);
    new DeviceMeters(device).bindTo(meters);
    return device;
  }

  private double value(String name) {
    return meters.get("roundhouse.device.memory." + name).gauge().value();
  }

  private static OptionalLong known(long bytes) {
    return OptionalLong.of(bytes);
  }

  private static final class Counting extends ForwardingDevice {
    private final DeviceMemory memory;
    private boolean gone;

    Counting(DeviceMemory memory) {
      super(
          new SimulatedDevice(
              SimulatedDeviceOptions.instant(ReferenceFunction.ZERO), NanoClock.SYSTEM));
      this.memory = memory;
    }

    @Override
    public DeviceMemory memory() {
      if (gone) {
        throw new DeviceException(DeviceException.Code.CLOSED, "the device is closed");
      }
      return memory;
    }
  }
}

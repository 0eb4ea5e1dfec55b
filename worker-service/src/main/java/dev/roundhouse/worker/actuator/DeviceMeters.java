package dev.roundhouse.worker.actuator;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceMemory;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.OptionalLong;
import java.util.function.Function;

/** Shows what the device counts of its memory. What it does not count has no meter at all. */
public final class DeviceMeters implements MeterBinder {
  private final Device device;

  public DeviceMeters(Device device) {
    this.device = device;
  }

  @Override
  public void bindTo(MeterRegistry meters) {
    bind("in.use", "Device memory that is in use", DeviceMemory::inUse, meters);
    bind("limit", "Device memory that there is for use", DeviceMemory::limit, meters);
    bind("peak", "Most device memory that was ever in use", DeviceMemory::peak, meters);
    bind(
        "largest.free.block",
        "Most device memory that one allocation can get without anything being freed",
        DeviceMemory::largestFreeBlock,
        meters);
  }

  private void bind(
      String name,
      String description,
      Function<DeviceMemory, OptionalLong> part,
      MeterRegistry meters) {
    if (part.apply(device.memory()).isPresent()) {
      Gauge.builder("roundhouse.device.memory." + name, () -> read(part))
          .description(description)
          .baseUnit("bytes")
          .register(meters);
    }
  }

  private double read(Function<DeviceMemory, OptionalLong> part) {
    try {
      OptionalLong bytes = part.apply(device.memory());
      return bytes.isPresent() ? bytes.getAsLong() : Double.NaN;
    } catch (DeviceException closedOrLost) {
      return Double.NaN; // which the engine tells of elsewhere
    }
  }
}

package dev.roundhouse.worker.actuator;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceMemory;
import dev.roundhouse.platform.metrics.Meters;
import dev.roundhouse.platform.metrics.Metric;
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
  public void bindTo(MeterRegistry registry) {
    Meters meters = new Meters(registry);
    bind(Metric.DEVICE_MEMORY_IN_USE, DeviceMemory::inUse, meters);
    bind(Metric.DEVICE_MEMORY_LIMIT, DeviceMemory::limit, meters);
    bind(Metric.DEVICE_MEMORY_PEAK, DeviceMemory::peak, meters);
    bind(Metric.DEVICE_MEMORY_LARGEST_FREE_BLOCK, DeviceMemory::largestFreeBlock, meters);
  }

  private void bind(Metric metric, Function<DeviceMemory, OptionalLong> part, Meters meters) {
    if (part.apply(device.memory()).isPresent()) {
      meters.read(metric, device, each -> read(each, part));
    }
  }

  private static double read(Device device, Function<DeviceMemory, OptionalLong> part) {
    try {
      OptionalLong bytes = part.apply(device.memory());
      return bytes.isPresent() ? bytes.getAsLong() : Double.NaN;
    } catch (DeviceException closedOrLost) {
      return Double.NaN; // which the engine tells of elsewhere
    }
  }
}

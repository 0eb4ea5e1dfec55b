package dev.roundhouse.engine.residency;

import dev.roundhouse.bundle.weights.Weight;
import dev.roundhouse.bundle.weights.WeightSource;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import dev.roundhouse.engine.device.DeviceMemory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Brings weights to the device. Every ready model is resident: what is loaded stays until it is
 * unloaded. Thread-safe.
 */
public final class Residency {
  private final Device device;
  private final HostMemory use;
  private final AtomicLong residentBytes = new AtomicLong();

  /**
   * @param use {@link HostMemory#ALIAS} lets a device that can read the host floor in place
   */
  public Residency(Device device, HostMemory use) {
    this.device = device;
    this.use = use;
  }

  /**
   * Copies a model's weights to a new host floor and uploads them.
   *
   * @param source borrowed for the call
   * @throws DeviceException OUT_OF_MEMORY when device memory does not suffice, before anything is
   *     read where the device counts its memory; nothing is kept then
   */
  public ModelWeights load(WeightSource source) {
    checkRoom(source);
    HostFloor floor = HostFloor.of(source);
    List<DeviceBuffer> buffers = new ArrayList<>(floor.count());
    try {
      for (int i = 0; i < floor.count(); i++) {
        DeviceBuffer buffer = device.upload(floor.type(i), floor.tensor(i), use);
        buffers.add(buffer);
      }
      ModelWeights weights = new ModelWeights(floor, buffers);
      residentBytes.addAndGet(floor.byteSize());
      return weights;
    } catch (RuntimeException | Error e) {
      buffers.forEach(DeviceBuffer::close);
      floor.close();
      throw e;
    }
  }

  /** A device may wait seconds for memory before it refuses, and others wait with it. */
  private void checkRoom(WeightSource source) {
    long needed = 0;
    for (Weight weight : source.arguments()) {
      needed = Math.addExact(needed, weight.type().byteSize());
    }
    if (needed == 0) {
      return;
    }
    DeviceMemory memory = device.memory();
    if (memory.limit().isPresent() && memory.inUse().isPresent()) {
      long limit = memory.limit().getAsLong();
      long free = Math.max(0, limit - memory.inUse().getAsLong());
      if (needed > free) {
        throw new DeviceException(
            Code.OUT_OF_MEMORY,
            "its weights need %d bytes of device memory and %d of %d are free; unload a model or use a device with more memory"
                .formatted(needed, free, limit));
      }
    }
  }

  /** Takes a model's weights off the device and frees its host floor. Takes {@code weights}. */
  public void unload(ModelWeights weights) {
    residentBytes.addAndGet(-weights.byteSize());
    weights.close();
  }

  /** Bytes of weights on the device. */
  public long residentBytes() {
    return residentBytes.get();
  }
}

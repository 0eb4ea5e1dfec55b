package dev.roundhouse.engine.residency;

import dev.roundhouse.bundle.weights.WeightSource;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.DeviceBuffer;
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
   * @throws dev.roundhouse.engine.device.DeviceException when device memory does not suffice;
   *     nothing is kept then
   */
  public ModelWeights load(WeightSource source) {
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

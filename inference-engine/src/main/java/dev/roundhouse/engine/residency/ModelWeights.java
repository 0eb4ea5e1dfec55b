package dev.roundhouse.engine.residency;

import dev.roundhouse.engine.device.DeviceBuffer;
import org.jspecify.annotations.Nullable;

/**
 * One model's weights: the host floor, and the device buffers made of it while it is on the device.
 * Made and closed by the loader; where they are is the dispatch thread's to say.
 */
public final class ModelWeights {
  private final HostFloor floor;
  private final long byteSize;
  private volatile DeviceBuffer @Nullable [] onDevice;

  ModelWeights(HostFloor floor) {
    this.floor = floor;
    byteSize = floor.byteSize();
    onDevice = floor.count() == 0 ? new DeviceBuffer[0] : null;
  }

  HostFloor floor() {
    return floor;
  }

  /** Tensors, each an argument of every program after its inputs. */
  public int count() {
    return floor.count();
  }

  /** Bytes of the weights themselves, without alignment. */
  public long byteSize() {
    return byteSize;
  }

  /** True when they are on the device; always, for a model that has none. Any thread. */
  public boolean isResident() {
    return onDevice != null;
  }

  /**
   * Puts the buffers, in the order the program takes them, into the arguments of a run. Dispatch
   * thread only.
   *
   * @throws IllegalStateException when they are not on the device
   */
  public void place(@Nullable DeviceBuffer[] arguments, int from) {
    DeviceBuffer[] buffers = onDevice;
    if (buffers == null) {
      throw new IllegalStateException("weights that are not on the device cannot be run with");
    }
    System.arraycopy(buffers, 0, arguments, from, buffers.length);
  }

  void arrived(DeviceBuffer[] buffers) {
    onDevice = buffers;
  }

  /** Takes the buffers, for them to be closed; none when there are none on the device. */
  DeviceBuffer[] leave() {
    DeviceBuffer[] buffers = onDevice;
    if (buffers == null || buffers.length == 0) {
      return new DeviceBuffer[0];
    }
    onDevice = null;
    return buffers;
  }

  /** Frees device buffers first: they may alias the floor. */
  void close() {
    for (DeviceBuffer buffer : leave()) {
      buffer.close();
    }
    floor.close();
  }
}

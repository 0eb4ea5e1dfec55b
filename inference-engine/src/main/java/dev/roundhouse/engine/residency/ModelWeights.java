package dev.roundhouse.engine.residency;

import dev.roundhouse.engine.device.DeviceBuffer;
import java.util.List;

/**
 * One model's weights: the host floor and the device buffers made of it. Made and closed by the
 * loader; read by the dispatch thread.
 */
public final class ModelWeights implements AutoCloseable {
  private final HostFloor floor;
  private final List<DeviceBuffer> onDevice;

  ModelWeights(HostFloor floor, List<DeviceBuffer> onDevice) {
    this.floor = floor;
    this.onDevice = List.copyOf(onDevice);
  }

  /** Device buffers in the order the program takes them, after the inputs. Borrowed. */
  public List<DeviceBuffer> onDevice() {
    return onDevice;
  }

  /** Bytes of the weights themselves, without alignment. */
  public long byteSize() {
    return floor.byteSize();
  }

  /** Frees device buffers first: they may alias the floor. */
  @Override
  public void close() {
    onDevice.forEach(DeviceBuffer::close);
    floor.close();
  }
}

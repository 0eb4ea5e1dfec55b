package dev.roundhouse.benchmarks.residency;

import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.ForwardingDevice;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * A device that notes which host memory the engine uploads weights from, so that a bare loop can
 * upload the very same. Weights are told from inputs by their rank, 1. One thread at a time may
 * upload weights or loop.
 */
final class WeightTap extends ForwardingDevice {
  private final Device device;
  private final int count;
  private final List<Upload> uploads = new ArrayList<>();

  private record Upload(TensorType type, MemorySegment data) {}

  /**
   * @param device borrowed
   * @param count tensors of the one model's weights
   */
  WeightTap(Device device, int count) {
    super(device);
    this.device = device;
    this.count = count;
  }

  @Override
  public DeviceBuffer upload(TensorType type, MemorySegment data, HostMemory use) {
    if (type.shape().rank() == 1) {
      if (uploads.size() == count) {
        uploads.clear();
      }
      uploads.add(new Upload(type, data));
    }
    return device.upload(type, data, use);
  }

  /** Tensors of the model's weights. */
  int count() {
    return count;
  }

  /** The floor: uploads what was uploaded last again, and waits; returns how long that took. */
  long bareNanos() {
    if (uploads.size() != count) {
      throw new IllegalStateException(
          "%d of %d tensors have been uploaded".formatted(uploads.size(), count));
    }
    DeviceBuffer[] buffers = new DeviceBuffer[count];
    long start = System.nanoTime();
    for (int i = 0; i < count; i++) {
      Upload upload = uploads.get(i);
      buffers[i] = device.upload(upload.type(), upload.data(), HostMemory.COPY);
    }
    for (DeviceBuffer buffer : buffers) {
      buffer.awaitReady();
    }
    long nanos = System.nanoTime() - start;
    for (DeviceBuffer buffer : buffers) {
      buffer.close();
    }
    return nanos;
  }
}

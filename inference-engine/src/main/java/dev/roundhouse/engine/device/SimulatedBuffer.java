package dev.roundhouse.engine.device;

import dev.roundhouse.bundle.tensor.TensorType;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicBoolean;

/** A tensor of the simulated device. Thread-safe. */
final class SimulatedBuffer implements DeviceBuffer {
  private final TensorType type;
  private final MemorySegment data;
  private final long arrivedNanos;
  private final SimulatedDevice device;
  private final AtomicBoolean closed = new AtomicBoolean();

  SimulatedBuffer(TensorType type, MemorySegment data, long arrivedNanos, SimulatedDevice device) {
    this.type = type;
    this.data = data;
    this.arrivedNanos = arrivedNanos;
    this.device = device;
  }

  @Override
  public TensorType type() {
    return type;
  }

  @Override
  public void read(long offset, MemorySegment target) {
    if (closed.get()) {
      throw new DeviceException(DeviceException.Code.CLOSED, "buffer " + type + " is closed");
    }
    if (offset < 0 || offset > data.byteSize() - target.byteSize()) {
      throw new DeviceException(
          DeviceException.Code.INVALID_ARGUMENT,
          "read of %d bytes at %d is outside %s, which has %d bytes"
              .formatted(target.byteSize(), offset, type, data.byteSize()));
    }
    device.awaitTime(arrivedNanos);
    MemorySegment.copy(data, offset, target, 0, target.byteSize());
  }

  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      device.onClosed(this);
    }
  }

  boolean isClosed() {
    return closed.get();
  }

  MemorySegment data() {
    return data;
  }

  /** When the data has crossed the link, or the run that makes it is over. */
  long arrivedNanos() {
    return arrivedNanos;
  }

  SimulatedDevice device() {
    return device;
  }
}

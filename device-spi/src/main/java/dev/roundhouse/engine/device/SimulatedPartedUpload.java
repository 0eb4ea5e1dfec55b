package dev.roundhouse.engine.device;

import dev.roundhouse.engine.device.DeviceException.Code;
import java.lang.foreign.MemorySegment;

/** A tensor that comes to the simulated device in parts, each of which occupies the link. */
final class SimulatedPartedUpload implements PartedUpload {
  private final SimulatedDevice device;
  private final SimulatedBuffer buffer;
  private long written;

  SimulatedPartedUpload(SimulatedDevice device, SimulatedBuffer buffer) {
    this.device = device;
    this.buffer = buffer;
  }

  @Override
  public DeviceBuffer buffer() {
    return buffer;
  }

  @Override
  public Arrival write(MemorySegment part) {
    long size = buffer.type().byteSize();
    long bytes = part.byteSize();
    if (bytes == 0 || bytes > size - written) {
      throw new DeviceException(
          Code.INVALID_ARGUMENT,
          "part of %d bytes for %s, of which %d of %d bytes are left"
              .formatted(bytes, buffer.describe(), size - written, size));
    }
    if (!part.scope().isAlive()) {
      throw new DeviceException(
          Code.CLOSED, "part of " + buffer.describe() + ": its arena is closed");
    }
    SimulatedDevice.checkShared(buffer.type(), part);
    buffer.hold(); // throws when it is closed
    try {
      MemorySegment.copy(part, 0, buffer.data(), written, bytes);
      written += bytes;
      long arrived = device.crossLink(bytes);
      if (written == size) {
        buffer.arrivesAt(arrived);
      }
      return new Arrived(arrived);
    } finally {
      buffer.release();
    }
  }

  private final class Arrived implements Arrival {
    private final long nanos;

    Arrived(long nanos) {
      this.nanos = nanos;
    }

    @Override
    public boolean isReady() {
      buffer.hold();
      try {
        return device.isPast(nanos);
      } finally {
        buffer.release();
      }
    }

    @Override
    public void awaitReady() {
      buffer.hold();
      try {
        device.awaitTime(nanos);
      } finally {
        buffer.release();
      }
    }
  }
}

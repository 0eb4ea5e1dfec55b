package dev.roundhouse.pjrt;

import dev.roundhouse.engine.device.Arrival;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.PartedUpload;
import java.lang.foreign.MemorySegment;

/**
 * A tensor that crosses to a PJRT device in parts. Parts are handed over by one thread at a time;
 * any may ask for their arrival, and close the buffer.
 */
final class PjrtPartedUpload implements PartedUpload {
  private final PjrtBuffer buffer;
  private final PjrtParts parts;
  private final long byteSize;
  private long handedOver;

  /**
   * @param buffer which owns {@code parts}
   */
  PjrtPartedUpload(PjrtBuffer buffer, PjrtParts parts, long byteSize) {
    this.buffer = buffer;
    this.parts = parts;
    this.byteSize = byteSize;
  }

  @Override
  public DeviceBuffer buffer() {
    return buffer;
  }

  @Override
  public Arrival write(MemorySegment part) {
    MemorySegment source = UploadCheck.part(buffer.type(), part, byteSize - handedOver, byteSize);
    long address = buffer.hold();
    try {
      boolean last = handedOver + source.byteSize() == byteSize;
      PjrtParts.Part sent = parts.transfer(address, source, handedOver, last);
      handedOver += source.byteSize();
      return new Arriving(sent, last);
    } finally {
      buffer.release();
    }
  }

  private final class Arriving implements Arrival {
    private final PjrtParts.Part part;
    private final boolean last;

    Arriving(PjrtParts.Part part, boolean last) {
      this.part = part;
      this.last = last;
    }

    @Override
    public boolean isReady() {
      buffer.hold();
      try {
        // Success is reported by the tensor: a part's event only says that it is over.
        return parts.hasArrived(part) && (!last || buffer.isReady());
      } finally {
        buffer.release();
      }
    }

    @Override
    public void awaitReady() {
      buffer.hold();
      try {
        parts.await(part);
        if (last) {
          buffer.awaitReady();
          parts.onAllArrived();
        }
      } finally {
        buffer.release();
      }
    }
  }
}

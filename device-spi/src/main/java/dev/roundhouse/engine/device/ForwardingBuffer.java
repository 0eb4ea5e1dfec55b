package dev.roundhouse.engine.device;

import dev.roundhouse.bundle.tensor.TensorType;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/** Forwards everything to another buffer; for subclasses that override parts. */
public class ForwardingBuffer implements DeviceBuffer {
  private final DeviceBuffer buffer;

  public ForwardingBuffer(DeviceBuffer buffer) {
    this.buffer = buffer;
  }

  /** The buffer that all is passed on to, which is what its device knows. */
  public final DeviceBuffer buffer() {
    return buffer;
  }

  @Override
  public TensorType type() {
    return buffer.type();
  }

  @Override
  public boolean isReady() {
    return buffer.isReady();
  }

  @Override
  public void awaitReady() {
    buffer.awaitReady();
  }

  @Override
  public void read(long offset, MemorySegment target) {
    buffer.read(offset, target);
  }

  @Override
  public Optional<MemorySegment> view() {
    return buffer.view();
  }

  @Override
  public void close() {
    buffer.close();
  }
}

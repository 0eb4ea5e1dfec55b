package dev.roundhouse.engine.state;

import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.TensorData;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What one call has left on the device for the next. An argument of the next run where it fits as
 * it is; else read from there like any input. Freed when its owner and every batch have let go of
 * it. Counted beside weights. Thread-safe.
 */
public final class HandedTensor implements TensorData {
  private static final Logger log = LoggerFactory.getLogger(HandedTensor.class);

  private final DeviceStates store;
  private final TensorType type;

  // Guarded by this.
  private @Nullable DeviceBuffer buffer;
  private int users = 1;

  private HandedTensor(DeviceStates store, DeviceBuffer buffer) {
    this.store = store;
    this.buffer = buffer;
    type = buffer.type();
    count(type.byteSize());
  }

  /** Takes {@code buffer}, even when this throws; to be {@link #release}d. */
  public static HandedTensor of(DeviceStates store, DeviceBuffer buffer) {
    try {
      return new HandedTensor(store, buffer);
    } catch (Throwable e) {
      buffer.close();
      throw e;
    }
  }

  /** Lets go of those among them, as their owner. */
  public static void release(List<InputTensor> tensors) {
    for (InputTensor each : tensors) {
      if (each.data() instanceof HandedTensor handed) {
        handed.release();
      }
    }
  }

  private void count(long bytes) {
    synchronized (store) {
      store.add(bytes);
    }
  }

  /** As the program that made it has it. */
  public TensorType type() {
    return type;
  }

  @Override
  public long byteSize() {
    return type.byteSize();
  }

  /** None: it is the device's memory. */
  @Override
  public long heldBytes() {
    return 0;
  }

  @Override
  public synchronized boolean isReadable() {
    return buffer != null;
  }

  @Override
  public boolean waitsForDevice() {
    return true;
  }

  @Override
  public void copyTo(long offset, MemorySegment target, long targetOffset, long length) {
    DeviceBuffer there = borrow();
    if (there == null) {
      throw new IllegalStateException("the run that it was handed on in is over");
    }
    try {
      there.read(offset, target.asSlice(targetOffset, length));
    } finally {
      release();
    }
  }

  /** For a run's arguments; to be {@link #release}d. Null when it has been freed. */
  public synchronized @Nullable DeviceBuffer borrow() {
    if (buffer != null) {
      users++;
    }
    return buffer;
  }

  /** Its owner, or who has borrowed it, does not need it any more. Once each. */
  public void release() {
    DeviceBuffer left;
    synchronized (this) {
      users--;
      if (users > 0) {
        return;
      }
      left = buffer;
      buffer = null;
    }
    if (left == null) {
      return;
    }
    count(-type.byteSize());
    if (store.isAbandoned()) {
      return;
    }
    try {
      left.close();
    } catch (Throwable e) {
      log.warn("a tensor between two calls could not be freed on the device: {}", e.toString());
    }
  }
}

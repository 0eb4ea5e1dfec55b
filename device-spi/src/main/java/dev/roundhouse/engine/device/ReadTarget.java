package dev.roundhouse.engine.device;

import dev.roundhouse.bundle.tensor.TensorType;
import java.lang.foreign.MemorySegment;

/** Checks the memory that {@link DeviceBuffer#read} is to fill, for devices that write blindly. */
public final class ReadTarget {

  private ReadTarget() {}

  /**
   * @throws DeviceException when {@code target} cannot be written by this thread: CLOSED when its
   *     arena is closed, INVALID_ARGUMENT when it is read-only or confined to another thread
   */
  public static void check(MemorySegment target, TensorType type) {
    if (!target.scope().isAlive()) {
      throw new DeviceException(
          DeviceException.Code.CLOSED, "read of " + type + ": the target's arena is closed");
    }
    if (target.isReadOnly()) {
      throw new DeviceException(
          DeviceException.Code.INVALID_ARGUMENT, "read of " + type + ": the target is read-only");
    }
    if (!target.isAccessibleBy(Thread.currentThread())) {
      throw new DeviceException(
          DeviceException.Code.INVALID_ARGUMENT,
          "read of " + type + ": the target is confined to another thread; use a shared arena");
    }
  }
}

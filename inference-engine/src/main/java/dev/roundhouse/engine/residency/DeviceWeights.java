package dev.roundhouse.engine.residency;

import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.hostweights.Lease;
import org.jspecify.annotations.Nullable;

/**
 * A model's weights on the device, in the order the program takes them, and the host memory that
 * the device may read them from.
 */
final class DeviceWeights implements AutoCloseable {
  private final DeviceBuffer[] buffers;
  private final @Nullable Lease lease;

  /**
   * @param lease of the memory that the buffers are made of; null when they are copies
   */
  DeviceWeights(DeviceBuffer[] buffers, @Nullable Lease lease) {
    this.buffers = buffers;
    this.lease = lease;
  }

  void place(@Nullable DeviceBuffer[] arguments, int from) {
    System.arraycopy(buffers, 0, arguments, from, buffers.length);
  }

  /** Frees every buffer, whatever one of them throws, and then the memory that they may read. */
  @Override
  public void close() {
    closeFrom(0);
  }

  private void closeFrom(int first) {
    for (int i = first; i < buffers.length; i++) {
      try {
        buffers[i].close();
      } catch (RuntimeException | Error e) {
        closeFrom(i + 1);
        throw e;
      }
    }
    if (lease != null) {
      lease.close();
    }
  }
}

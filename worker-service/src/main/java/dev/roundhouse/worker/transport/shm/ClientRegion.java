package dev.roundhouse.worker.transport.shm;

import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.kserve.status.WireException;
import java.lang.foreign.MemorySegment;

/**
 * Memory that a client has registered under a name. Closed once it is unregistered and no longer
 * used. Thread-safe.
 */
abstract sealed class ClientRegion permits SystemRegion, CudaRegion {
  private final String name;
  private final long byteSize;
  private int users = 1; // its registration

  ClientRegion(String name, long byteSize) {
    this.name = name;
    this.byteSize = byteSize;
  }

  final String name() {
    return name;
  }

  final long byteSize() {
    return byteSize;
  }

  /** False when it is closed. */
  final synchronized boolean use() {
    if (users == 0) {
      return false;
    }
    users++;
    return true;
  }

  final void release() {
    synchronized (this) {
      users--;
      if (users > 0) {
        return;
      }
    }
    closeMemory();
  }

  /** Called once, after the last use. Does not block. */
  abstract void closeMemory();

  /**
   * Refuses a range whose memory is gone, where that can be detected.
   *
   * @throws WireException INVALID_ARGUMENT
   */
  abstract void requireThere(long from, long length);

  /** The bytes of an input; they are read when the engine copies them. */
  abstract TensorData data(long from, long length);

  /**
   * Writes an output.
   *
   * @param data native
   * @throws WireException when its memory is gone
   */
  abstract void write(long from, MemorySegment data);

  /** Whether a copy may block on a device, which not every thread may do. */
  abstract boolean waitsForDevice();
}

package dev.roundhouse.worker.transport.shm;

import java.lang.foreign.MemorySegment;

/** Copies from and to memory that a client may truncate at any moment. Thread-safe. */
@FunctionalInterface
public interface RegionCopy {
  /**
   * @param from native
   * @param to native, of the same size
   * @return false when some of the client's memory is gone
   */
  boolean copy(MemorySegment from, MemorySegment to);
}

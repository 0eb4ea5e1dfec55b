package dev.roundhouse.engine.floor;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A floor's tensors, which stay in memory where they are until this is closed. Any thread may read
 * and close.
 */
public final class Lease implements AutoCloseable {
  private final HostWeights floor;
  private final FloorMemory memory;
  private final AtomicBoolean closed = new AtomicBoolean();

  Lease(HostWeights floor, FloorMemory memory) {
    this.floor = floor;
    this.memory = memory;
  }

  /**
   * One tensor, native, at a multiple of 64 bytes, of a shared arena; only to be read. Borrowed
   * until this is closed.
   */
  public MemorySegment tensor(int index) {
    if (closed.get()) {
      throw new IllegalStateException("the lease is closed");
    }
    return memory.tensor(index);
  }

  /** Releases the memory unless something else needs it. Idempotent. */
  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      floor.store().end(floor, memory);
    }
  }
}

package dev.roundhouse.engine.hostweights;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * One model's weights, which stay in memory where they are until this is closed. Any thread may
 * read and close.
 */
public final class Lease implements AutoCloseable {
  private final HostWeights weights;
  private final HostWeightsMemory memory;
  private final AtomicBoolean closed = new AtomicBoolean();

  Lease(HostWeights weights, HostWeightsMemory memory) {
    this.weights = weights;
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
      weights.store().end(weights, memory);
    }
  }
}

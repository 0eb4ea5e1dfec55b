package dev.roundhouse.worker.tee;

import dev.roundhouse.kserve.tstream.StreamTensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One piece of memory for each tensor, all batches of a ring one after the other in it. It is freed
 * when nobody holds it: the ring while it lives, whoever copies rows in, and whoever reads a batch.
 */
final class RingMemory {
  private static final int ALIGNMENT = 64;

  private final TeeMemory account;
  private final long bytes;
  private final Executor freeing;
  private final Arena arena = Arena.ofShared();
  private final MemorySegment[] tensors;
  private final AtomicInteger holds = new AtomicInteger(1);

  /**
   * Allocates it, with one hold.
   *
   * @param account where {@code batches} of them have been taken
   * @param freeing frees it, which waits for all threads of the process
   */
  RingMemory(TeeSpec spec, int batches, TeeMemory account, Executor freeing) {
    this.account = account;
    this.freeing = freeing;
    bytes = spec.batchBytes() * batches;
    List<StreamTensor> of = spec.tensors();
    tensors = new MemorySegment[of.size()];
    try {
      for (int i = 0; i < tensors.length; i++) {
        tensors[i] = arena.allocate(of.get(i).byteSize() * batches, ALIGNMENT);
      }
    } catch (Throwable e) {
      arena.close();
      throw e;
    }
  }

  MemorySegment tensor(int index) {
    return tensors[index];
  }

  /** False when it has been given up. */
  boolean hold() {
    for (int now = holds.get(); now > 0; now = holds.get()) {
      if (holds.compareAndSet(now, now + 1)) {
        return true;
      }
    }
    return false;
  }

  void release() {
    if (holds.decrementAndGet() == 0) {
      try {
        freeing.execute(this::free);
      } catch (RuntimeException | Error e) { // it has stopped, or there is no memory for a task
        free();
      }
    }
  }

  private void free() {
    arena.close();
    account.giveBack(bytes);
  }
}

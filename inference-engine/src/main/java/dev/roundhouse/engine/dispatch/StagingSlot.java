package dev.roundhouse.engine.dispatch;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Host memory in which a batch's inputs are laid out before they go to the device: 64-byte aligned
 * and touched before use, since first touch costs many times the copy. Grows when a model is added,
 * never while a batch is in it. Owned by the dispatch thread.
 */
final class StagingSlot implements AutoCloseable {
  static final long ALIGNMENT = 64;

  private Arena arena = Arena.ofShared();
  private MemorySegment memory = arena.allocate(4096, ALIGNMENT);
  private int generation;

  /** Makes room for a batch of {@code bytes}. */
  void ensureCapacity(long bytes) {
    if (bytes <= memory.byteSize()) {
      return;
    }
    Arena larger = Arena.ofShared();
    MemorySegment segment =
        larger.allocate(align(bytes), ALIGNMENT); // allocation touches: it zeroes
    arena.close();
    arena = larger;
    memory = segment;
    generation++;
  }

  MemorySegment memory() {
    return memory;
  }

  /** Changes when the slot grows: slices made before are then of no use. */
  int generation() {
    return generation;
  }

  @Override
  public void close() {
    arena.close();
  }

  static long align(long bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }
}

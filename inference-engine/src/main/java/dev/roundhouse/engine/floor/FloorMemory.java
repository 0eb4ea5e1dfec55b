package dev.roundhouse.engine.floor;

import java.lang.foreign.MemorySegment;

/** Where the tensors of one floor lie while they are in host memory. */
abstract sealed class FloorMemory permits PrivateMemory, SharedRegion {
  /** Guarded by the store. */
  int leases;

  /** No floor refers to it any more: the last lease frees it. Guarded by the store. */
  boolean dropped;

  /** One tensor, at a multiple of {@link FloorLayout#ALIGNMENT}; read only. */
  abstract MemorySegment tensor(int index);

  /** What it takes, without what it borrows from other floors. */
  abstract long heldBytes();

  abstract boolean isShared();

  abstract boolean hasHugePages();

  abstract boolean isPinned();

  /** False when another process has truncated its memory. */
  abstract boolean isIntact();

  /** Gives the memory back; once, when nothing reads it any more. */
  abstract void free();
}

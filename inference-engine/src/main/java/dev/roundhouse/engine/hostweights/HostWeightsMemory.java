package dev.roundhouse.engine.hostweights;

import java.lang.foreign.MemorySegment;

/** Where one model's weights lie while they are in host memory. */
abstract sealed class HostWeightsMemory permits PrivateMemory, SharedRegion {
  /** Guarded by the store. */
  int leases;

  /** No {@link HostWeights} refer to it any more: the last lease frees it. Guarded by the store. */
  boolean dropped;

  /** One tensor, at a multiple of {@link HostWeightsLayout#ALIGNMENT}; read only. */
  abstract MemorySegment tensor(int index);

  /** What it takes, without what it borrows from other models. */
  abstract long heldBytes();

  abstract boolean isShared();

  abstract boolean hasHugePages();

  abstract boolean isPinned();

  /** False when another process has truncated its memory. */
  abstract boolean isIntact();

  /** Gives the memory back; once, when nothing reads it any more. */
  abstract void free();
}

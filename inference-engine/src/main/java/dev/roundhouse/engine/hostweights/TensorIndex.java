package dev.roundhouse.engine.hostweights;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Finds large tensors that are in memory already, and keeps a block for as long as one of its
 * tensors is read. Thread-safe.
 */
final class TensorIndex {
  /** A smaller tensor saves less than tracking it costs. */
  static final long LEAST_BYTES = 64 << 10;

  private final Map<ContentKey, Extent> known = new HashMap<>();

  /**
   * A tensor that may be equal, which stays where it is until {@link #giveBack}; null when there is
   * none.
   */
  synchronized @Nullable Extent borrow(ContentKey key) {
    Extent extent = known.get(key);
    if (extent != null) {
      extent.borrowers++;
      extent.block().borrowed++;
    }
    return extent;
  }

  void giveBack(Extent extent) {
    Block block = extent.block();
    boolean unused;
    synchronized (this) {
      extent.borrowers--;
      block.borrowed--;
      unused = block.isOrphan && keepBorrowed(block);
    }
    if (unused) {
      block.free();
    }
  }

  /** Lets other models borrow a tensor; does nothing when there is one like it. */
  synchronized void publish(Extent extent) {
    if (known.putIfAbsent(extent.key(), extent) == null) {
      extent.block().extents.add(extent);
    }
  }

  /** Gives a block back, or what of it no other model reads. */
  void release(Block block) {
    boolean unused;
    synchronized (this) {
      block.isOrphan = true;
      unused = keepBorrowed(block);
    }
    if (unused) {
      block.free();
    }
  }

  /** True when nothing of the block is needed any more. */
  private boolean keepBorrowed(Block block) {
    for (Iterator<Extent> extents = block.extents.iterator(); extents.hasNext(); ) {
      Extent extent = extents.next();
      if (extent.borrowers == 0) {
        known.remove(extent.key());
        extents.remove();
      }
    }
    if (block.borrowed > 0) {
      block.keepOnly(block.extents);
      return false;
    }
    return true;
  }
}

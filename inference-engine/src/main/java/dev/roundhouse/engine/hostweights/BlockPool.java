package dev.roundhouse.engine.hostweights;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Memory that weights pass through on their way from the files to the device. A few blocks are
 * kept, as allocating memory takes longer than the copy. Thread-safe.
 */
final class BlockPool {
  /** A block may be this many times as large as what it is used for. */
  private static final long MOST_WASTE = 4;

  private final long mostBytes;
  private final Deque<Block> idle = new ArrayDeque<>();
  private long idleBytes;

  BlockPool(long mostBytes) {
    this.mostBytes = mostBytes;
  }

  /** The smallest idle block that is large enough; null when there is none. */
  synchronized @Nullable Block take(long bytes) {
    Block best = null;
    for (Block block : idle) {
      if (block.capacity() >= bytes
          && block.capacity() / MOST_WASTE <= Math.max(bytes, Libc.PAGE_BYTES)
          && (best == null || block.capacity() < best.capacity())) {
        best = block;
      }
    }
    if (best != null) {
      idle.remove(best);
      idleBytes -= best.capacity();
    }
    return best;
  }

  /** Takes a block back, and frees those that have been idle longest when it has too many. */
  void give(Block block) {
    List<Block> surplus = new ArrayList<>(0);
    synchronized (this) {
      idle.addLast(block);
      idleBytes += block.capacity();
      for (Iterator<Block> oldest = idle.iterator(); idleBytes > mostBytes; ) {
        Block each = oldest.next();
        oldest.remove();
        idleBytes -= each.capacity();
        surplus.add(each);
      }
    }
    surplus.forEach(Block::free);
  }

  /** Frees what is idle; true when there was any. */
  boolean clear() {
    List<Block> all;
    synchronized (this) {
      all = List.copyOf(idle);
      idle.clear();
      idleBytes = 0;
    }
    all.forEach(Block::free);
    return !all.isEmpty();
  }
}

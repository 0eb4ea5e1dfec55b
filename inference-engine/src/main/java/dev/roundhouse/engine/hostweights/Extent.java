package dev.roundhouse.engine.hostweights;

import java.lang.foreign.MemorySegment;

/** A tensor in a block, which other models' weights may share. */
final class Extent {
  private final Block block;
  private final ContentKey key;
  private final long offset;

  /** Host weights that read it, besides those it was made for. Guarded by {@link TensorIndex}. */
  int borrowers;

  Extent(Block block, ContentKey key, long offset) {
    this.block = block;
    this.key = key;
    this.offset = offset;
  }

  Block block() {
    return block;
  }

  ContentKey key() {
    return key;
  }

  long offset() {
    return offset;
  }

  long size() {
    return key.size();
  }

  MemorySegment tensor() {
    return block.memory().asSlice(offset, key.size());
  }
}

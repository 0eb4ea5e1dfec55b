package dev.roundhouse.engine.hostweights;

import java.lang.foreign.MemorySegment;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Memory of this process: one block with a model's tensors in order, less those that lie in another
 * model's block already.
 */
final class PrivateMemory extends HostWeightsMemory {
  private final HostWeightsLayout layout;
  private final Block block;
  private final long[] offsets;
  private final @Nullable Extent @Nullable [] borrowed;
  private final Consumer<PrivateMemory> whenFreed;

  /**
   * @param borrowed by index, where a tensor lies that is not in {@code block}; null when all are
   * @param whenFreed takes the block and what is borrowed back
   */
  PrivateMemory(
      HostWeightsLayout layout,
      Block block,
      long[] offsets,
      @Nullable Extent @Nullable [] borrowed,
      Consumer<PrivateMemory> whenFreed) {
    this.layout = layout;
    this.block = block;
    this.offsets = offsets;
    this.borrowed = borrowed;
    this.whenFreed = whenFreed;
  }

  Block block() {
    return block;
  }

  @Nullable Extent @Nullable [] borrowed() {
    return borrowed;
  }

  @Override
  MemorySegment tensor(int index) {
    Extent elsewhere = borrowed == null ? null : borrowed[index];
    return elsewhere == null
        ? block.memory().asSlice(offsets[index], layout.size(index))
        : elsewhere.tensor();
  }

  @Override
  long heldBytes() {
    return block.heldBytes();
  }

  @Override
  boolean isShared() {
    return false;
  }

  @Override
  boolean hasHugePages() {
    return block.hasHugePages();
  }

  @Override
  boolean isPinned() {
    return block.isPinned();
  }

  @Override
  boolean isIntact() {
    return true;
  }

  @Override
  void free() {
    whenFreed.accept(this);
  }
}

package dev.roundhouse.engine.hostweights;

import dev.roundhouse.bundle.weights.WeightSource;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/** Reads weights into memory of this process. Thread-safe; blocks on the disk. */
final class PrivateStore {
  private final boolean hugePages;
  private final Pins pins;
  private final HostBytes account;
  private final String budgetName;
  private final LongConsumer room;
  private final TensorIndex index = new TensorIndex();
  private final BlockPool pool;
  private final AtomicLong savedBytes = new AtomicLong();

  /**
   * @param budgetName what bounds this memory, as messages name it
   * @param room told how much memory is about to be taken
   * @param mostIdleBytes kept for weights that pass through
   */
  PrivateStore(
      boolean hugePages,
      Pins pins,
      HostBytes account,
      String budgetName,
      LongConsumer room,
      long mostIdleBytes) {
    this.hugePages = hugePages;
    this.pins = pins;
    this.account = account;
    this.budgetName = budgetName;
    this.room = room;
    pool = new BlockPool(mostIdleBytes);
  }

  /** Bytes of tensors that are not stored, because they are equal to others. */
  long savedBytes() {
    return savedBytes.get();
  }

  /** Frees memory that nothing is in; true when there was any. */
  boolean clearIdle() {
    return pool.clear();
  }

  /** Reads weights that pass through on their way to the device. */
  HostWeightsMemory readThrough(HostWeightsLayout layout, WeightSource source) {
    Block pooled = pool.take(layout.blockBytes());
    Block block = pooled == null ? allocate(layout) : pooled;
    long[] offsets = new long[layout.count()];
    try {
      for (int i = 0; i < offsets.length; i++) {
        offsets[i] = layout.offset(i);
        source.copyTo(i, block.memory().asSlice(offsets[i], layout.size(i)));
      }
      source.verify(i -> block.memory().asSlice(offsets[i], layout.size(i)));
    } catch (RuntimeException | Error e) {
      pool.give(block);
      throw e;
    }
    return new PrivateMemory(layout, block, offsets, null, _ -> pool.give(block));
  }

  /**
   * Reads weights that stay. A tensor that is in memory already is read over by the next one.
   *
   * @param pin whether the device may take its time to page-lock them
   */
  HostWeightsMemory keep(HostWeightsLayout layout, WeightSource source, boolean pin) {
    Block block = allocate(layout);
    Filling filling = new Filling(layout, block);
    try {
      for (int i = 0; i < layout.count(); i++) {
        filling.copy(i, source);
      }
      source.verify(filling::tensor);
      block.trim(filling.end);
      if (pin) {
        block.pin(pins);
      }
    } catch (RuntimeException | Error e) {
      filling.giveBack();
      block.free();
      throw e;
    }
    filling.own.forEach(index::publish);
    long saved = filling.savedBytes;
    savedBytes.addAndGet(saved);
    return new PrivateMemory(
        layout,
        block,
        filling.offsets,
        filling.borrowed,
        memory -> {
          savedBytes.addAndGet(-saved);
          giveBack(memory.borrowed());
          index.release(memory.block());
        });
  }

  private Block allocate(HostWeightsLayout layout) {
    room.accept(layout.blockBytes());
    return new Block(layout.blockBytes(), hugePages, account, budgetName);
  }

  private void giveBack(@Nullable Extent @Nullable [] borrowed) {
    if (borrowed != null) {
      for (Extent extent : borrowed) {
        if (extent != null) {
          index.giveBack(extent);
        }
      }
    }
  }

  /** A block while tensors are copied to it. */
  private final class Filling {
    private final HostWeightsLayout layout;
    private final Block block;
    private final long[] offsets;
    private final Map<ContentKey, Extent> ownByKey = new HashMap<>();
    private final List<Extent> own = new ArrayList<>();
    private @Nullable Extent @Nullable [] borrowed;
    private long end;
    private long savedBytes;

    Filling(HostWeightsLayout layout, Block block) {
      this.layout = layout;
      this.block = block;
      offsets = new long[layout.count()];
    }

    void copy(int i, WeightSource source) {
      MemorySegment target = block.memory().asSlice(end, layout.size(i));
      source.copyTo(i, target);
      offsets[i] = end;
      if (layout.size(i) >= TensorIndex.LEAST_BYTES && isKnown(i, target)) {
        savedBytes += layout.size(i);
      } else {
        end = HostWeightsLayout.align(end + layout.size(i));
      }
    }

    private boolean isKnown(int i, MemorySegment target) {
      ContentKey key = ContentKey.of(target);
      Extent mine = ownByKey.get(key);
      if (mine != null && equal(mine, target)) {
        offsets[i] = mine.offset();
        return true;
      }
      Extent other = index.borrow(key);
      if (other == null) {
        if (mine == null) {
          Extent extent = new Extent(block, key, end);
          ownByKey.put(key, extent);
          own.add(extent);
        }
        return false;
      }
      if (!equal(other, target)) {
        index.giveBack(other);
        return false;
      }
      if (borrowed == null) {
        borrowed = new Extent[layout.count()];
      }
      borrowed[i] = other;
      return true;
    }

    private static boolean equal(Extent known, MemorySegment tensor) {
      return known.tensor().mismatch(tensor) < 0;
    }

    MemorySegment tensor(int i) {
      Extent elsewhere = borrowed == null ? null : borrowed[i];
      return elsewhere == null
          ? block.memory().asSlice(offsets[i], layout.size(i))
          : elsewhere.tensor();
    }

    void giveBack() {
      PrivateStore.this.giveBack(borrowed);
    }
  }
}

package dev.roundhouse.engine.hostweights;

import dev.roundhouse.engine.device.PinnedMemory;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Whole pages of private memory, committed on first touch. Alive until {@link #free}. */
final class Block {
  private static final long HUGE_PAGE_BYTES = 2 << 20;

  private final Arena arena;
  private final MemorySegment memory;
  private final HostBytes account;
  private final boolean hugePages;
  private long heldBytes;
  private @Nullable PinnedMemory pin;

  /** Tensors of it that other models may borrow, by address. Guarded by {@link TensorIndex}. */
  final List<Extent> extents = new ArrayList<>(0);

  /** How often its tensors are borrowed. Guarded by {@link TensorIndex}. */
  int borrowed;

  /** The weights that it was made for are gone. Guarded by {@link TensorIndex}. */
  boolean isOrphan;

  /**
   * @param budgetName what bounds such memory, as messages name it
   * @throws HostWeightsException when the system gives no such memory
   */
  Block(long bytes, boolean wantHugePages, HostBytes account, String budgetName) {
    this.account = account;
    long size = pages(Math.max(1, bytes));
    boolean large = wantHugePages && size >= HUGE_PAGE_BYTES;
    arena = Arena.ofShared();
    boolean made = false;
    try {
      MemorySegment range = Libc.pages(large ? size + HUGE_PAGE_BYTES : size, arena);
      long gap = large ? -range.address() & (HUGE_PAGE_BYTES - 1) : 0;
      memory = range.asSlice(gap, size);
      // The tail, shorter than a huge page, would still take one.
      hugePages =
          large
              && Libc.adviseHugePages(memory.asSlice(0, size / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES));
      made = true;
    } catch (IOException e) {
      throw new HostWeightsException(
          "%d bytes of host memory for weights cannot be had (%s); set %s below what the machine has, or raise vm.max_map_count"
              .formatted(size, e.getMessage(), budgetName));
    } finally {
      if (!made) {
        arena.close();
      }
    }
    hold(size);
  }

  long capacity() {
    return memory.byteSize();
  }

  MemorySegment memory() {
    return memory;
  }

  long heldBytes() {
    return heldBytes;
  }

  boolean hasHugePages() {
    return hugePages;
  }

  boolean isPinned() {
    return pin != null;
  }

  /** Releases what lies behind the first {@code bytes}. */
  void trim(long bytes) {
    long kept = pages(bytes);
    if (kept < memory.byteSize()) {
      Libc.release(memory.asSlice(kept));
    }
    hold(kept);
  }

  void pin(Pins pins) {
    pin = pins.pin(memory.asSlice(0, heldBytes));
  }

  /** Releases all pages that none of these extents needs, unless the device holds them. */
  void keepOnly(List<Extent> kept) {
    if (pin != null) {
      return;
    }
    long end = 0;
    long held = 0;
    for (Extent extent : kept) {
      long from = Math.max(end, extent.offset() / Libc.PAGE_BYTES * Libc.PAGE_BYTES);
      if (from > end) {
        Libc.release(memory.asSlice(end, from - end));
      }
      end = Math.max(end, pages(extent.offset() + extent.size()));
      held += end - from;
    }
    if (end < memory.byteSize()) {
      Libc.release(memory.asSlice(end));
    }
    hold(held);
  }

  /** Call once, when nothing reads it. */
  void free() {
    if (pin != null) {
      pin.close();
    }
    arena.close();
    hold(0);
  }

  private void hold(long bytes) {
    account.addPrivate(bytes - heldBytes);
    heldBytes = bytes;
  }

  static long pages(long bytes) {
    return Math.addExact(bytes, Libc.PAGE_BYTES - 1) / Libc.PAGE_BYTES * Libc.PAGE_BYTES;
  }
}

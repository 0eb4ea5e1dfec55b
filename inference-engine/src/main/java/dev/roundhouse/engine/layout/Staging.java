package dev.roundhouse.engine.layout;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.PinnedMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Host memory in which a batch's inputs are laid out before they go to the device: 64-byte aligned
 * and touched before use, since first touch costs many times the copy. Grows when a model needs
 * more, never while a batch is in it. Owned by the dispatch thread.
 */
public final class Staging implements AutoCloseable {
  static final long ALIGNMENT = 64;

  private static final long INITIAL_BYTES = 4096;

  private final int index;
  private Memory memory;
  private @Nullable Memory larger;
  private int generation;

  /**
   * @param index among the staging memories of a loop, from 0
   */
  Staging(int index) {
    this(index, Memory.allocate(INITIAL_BYTES));
  }

  /**
   * @param index among the staging memories of a loop, from 0
   * @param device that copies to or from the memory
   */
  public Staging(int index, Device device) {
    this(index, Memory.allocate(INITIAL_BYTES, device));
  }

  private Staging(int index, Memory memory) {
    this.index = index;
    this.memory = memory;
  }

  int index() {
    return index;
  }

  public long byteSize() {
    return memory.segment.byteSize();
  }

  /** Has larger memory take the place of this when {@link #grow} is called next. Takes it. */
  public void offer(Memory other) {
    Memory known = larger;
    if (other.segment.byteSize() > (known == null ? memory : known).segment.byteSize()) {
      larger = other;
      if (known != null) {
        known.close();
      }
    } else {
      other.close();
    }
  }

  /** Uses larger memory if some was offered. Only while nothing lies in this. */
  public void grow() {
    if (larger != null) {
      memory.close();
      memory = larger;
      larger = null;
      generation++;
    }
  }

  public MemorySegment memory() {
    return memory.segment;
  }

  /** Changes when the memory grows: slices made before are then of no use. */
  int generation() {
    return generation;
  }

  @Override
  public void close() {
    memory.close();
    if (larger != null) {
      larger.close();
    }
  }

  static long align(long bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }

  /** A block of memory, allocated and touched by whichever thread has the time for that. */
  public static final class Memory {
    private final Arena arena;
    private final MemorySegment segment;
    private final @Nullable PinnedMemory pinned;

    private Memory(Arena arena, MemorySegment segment, @Nullable PinnedMemory pinned) {
      this.arena = arena;
      this.segment = segment;
      this.pinned = pinned;
    }

    /**
     * @throws OutOfMemoryError when the process may have no more memory outside its heap
     */
    public static Memory allocate(long bytes) {
      Arena arena = Arena.ofShared();
      try {
        return new Memory(arena, arena.allocate(align(bytes), ALIGNMENT), null); // zeroes: touches
      } catch (RuntimeException | Error e) {
        arena.close();
        throw e;
      }
    }

    /**
     * In whole pages, pinned where the device does that.
     *
     * @throws OutOfMemoryError when the process may have no more memory outside its heap
     */
    public static Memory allocate(long bytes, Device device) {
      long page = PinnedMemory.PAGE_BYTES;
      Arena arena = Arena.ofShared();
      try {
        MemorySegment segment = arena.allocate(Math.ceilDiv(bytes, page) * page, page);
        return new Memory(arena, segment, device.pin(segment).orElse(null));
      } catch (RuntimeException | Error e) {
        arena.close();
        throw e;
      }
    }

    public void close() {
      if (pinned != null) {
        pinned.close();
      }
      arena.close();
    }
  }
}

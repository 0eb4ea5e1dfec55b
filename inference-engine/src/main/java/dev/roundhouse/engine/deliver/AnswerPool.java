package dev.roundhouse.engine.deliver;

import dev.roundhouse.engine.queue.AnswerMemory;
import dev.roundhouse.engine.recording.AnswerMemoryEvent;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.atomic.LongAdder;
import org.jctools.queues.varhandle.MpmcVarHandleArrayQueue;
import org.jspecify.annotations.Nullable;

/**
 * Off-heap memory for answers, reused, as fresh memory costs many times the copy into it. Blocks
 * come in sizes a quarter of a doubling apart, so that a quarter of one is wasted at most.
 * Thread-safe.
 *
 * <p>Small blocks are cut from slabs and stay; large ones are given back to the system when more
 * than {@code keepBytes} lie idle.
 */
public final class AnswerPool implements AutoCloseable {
  private static final int ALIGNMENT = 64;
  private static final int STEPS_PER_DOUBLING = 4;
  private static final long LARGEST_OF_SLABS = 4096;

  /** Few, as blocks are used in turn: the more lie idle, the colder is the next in caches. */
  private static final int BLOCKS_PER_SLAB = 64;

  private static final int SHELVES = STEPS_PER_DOUBLING * 58;

  /** Idle blocks of one size that are found without a look at a list. */
  private static final int SHELF_CAPACITY = 1 << 10;

  private final long keepBytes;
  private final AtomicLong idleBytes = new AtomicLong();
  private final LongAdder blocksInUse = new LongAdder();
  private final AtomicReferenceArray<@Nullable Shelf> shelves = new AtomicReferenceArray<>(SHELVES);
  private final Arena slabs = Arena.ofShared();
  private final AtomicBoolean slabsFreed = new AtomicBoolean();
  private final LentRuns lent = new LentRuns();
  private volatile boolean closed;

  /**
   * @param keepBytes of large blocks that may lie idle
   */
  public AnswerPool(long keepBytes) {
    this.keepBytes = keepBytes;
  }

  /**
   * A block of at least so many bytes; its content is left over from its last use.
   *
   * @param bytes above 0
   * @throws OutOfMemoryError when the process may have no more memory outside its heap
   */
  Block take(long bytes) {
    Shelf shelf = shelf(index(bytes));
    Block block = shelf.take();
    if (block == null) {
      block = shelf.make();
    } else if (block.arena != null) {
      idleBytes.addAndGet(-shelf.blockBytes);
    }
    blocksInUse.increment();
    return block;
  }

  /** The answers that need no block. */
  LentRuns lent() {
    return lent;
  }

  /** Answers that lie in the device's memory and have not been given back. */
  public int runsLent() {
    return lent.open();
  }

  /** Bytes of idle large blocks. */
  public long blocksInUse() {
    return blocksInUse.sum();
  }

  /** Bytes of large blocks that lie idle. */
  public long idleBytes() {
    return idleBytes.get();
  }

  /** Frees idle memory, and memory in use as soon as it is given back. */
  @Override
  public void close() {
    closed = true;
    for (int i = 0; i < SHELVES; i++) {
      Shelf shelf = shelves.get(i);
      if (shelf != null) {
        shelf.free();
      }
    }
    freeSlabsIfUnused();
  }

  private void freeSlabsIfUnused() {
    if (blocksInUse.sum() == 0 && slabsFreed.compareAndSet(false, true)) {
      slabs.close();
    }
  }

  private void giveBack(Block block) {
    shelve(block);
    blocksInUse.decrement();
    if (closed) {
      block.shelf.free();
      freeSlabsIfUnused();
    }
  }

  private void shelve(Block block) {
    Shelf shelf = block.shelf;
    if (block.arena == null) {
      shelf.keep(block);
      return;
    }
    boolean tooMany = idleBytes.addAndGet(shelf.blockBytes) > keepBytes || closed;
    if (tooMany || !shelf.blocks.offer(block)) {
      long idle = idleBytes.addAndGet(-shelf.blockBytes);
      block.arena.close();
      AnswerMemoryEvent.tell(shelf.blockBytes, true, idle);
    }
  }

  private Shelf shelf(int index) {
    Shelf shelf = shelves.get(index);
    if (shelf == null) {
      Shelf made = new Shelf(blockBytes(index));
      shelf = shelves.compareAndSet(index, null, made) ? made : shelves.get(index);
    }
    return Objects.requireNonNull(shelf);
  }

  /** The shelf whose blocks are the smallest that hold so many bytes. */
  static int index(long bytes) {
    if (bytes <= ALIGNMENT) {
      return 0;
    }
    int doubling =
        63 - Long.numberOfLeadingZeros(bytes - 1); // 2^doubling < bytes <= 2^(doubling+1)
    long base = 1L << doubling;
    long step = Math.max(base / STEPS_PER_DOUBLING, 1);
    int within = (int) ((bytes - 1 - base) / step);
    return (doubling - 6) * STEPS_PER_DOUBLING + within + 1;
  }

  /** Of the blocks of a shelf. */
  static long blockBytes(int index) {
    if (index == 0) {
      return ALIGNMENT;
    }
    int doubling = 6 + (index - 1) / STEPS_PER_DOUBLING;
    int within = (index - 1) % STEPS_PER_DOUBLING;
    long base = 1L << doubling;
    return base + base / STEPS_PER_DOUBLING * (within + 1);
  }

  private final class Shelf {
    final long blockBytes;
    final MpmcVarHandleArrayQueue<Block> blocks = new MpmcVarHandleArrayQueue<>(SHELF_CAPACITY);

    /** Blocks of slabs for which there was no room: they must not be lost. */
    final ConcurrentLinkedQueue<Block> beyond = new ConcurrentLinkedQueue<>();

    Shelf(long blockBytes) {
      this.blockBytes = blockBytes;
    }

    Block make() {
      if (blockBytes > LARGEST_OF_SLABS) {
        Arena arena = Arena.ofShared();
        MemorySegment memory = arena.allocate(blockBytes, ALIGNMENT);
        AnswerMemoryEvent.tell(blockBytes, false, idleBytes());
        return new Block(AnswerPool.this, this, memory, arena);
      }
      long stride = (blockBytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
      MemorySegment slab = slabs.allocate(BLOCKS_PER_SLAB * stride, ALIGNMENT);
      for (int i = 1; i < BLOCKS_PER_SLAB; i++) {
        keep(new Block(AnswerPool.this, this, slab.asSlice(i * stride, blockBytes), null));
      }
      return new Block(AnswerPool.this, this, slab.asSlice(0, blockBytes), null);
    }

    @Nullable Block take() {
      Block block = blocks.poll();
      return block == null ? beyond.poll() : block;
    }

    void keep(Block ofSlab) {
      if (!blocks.offer(ofSlab)) {
        beyond.add(ofSlab);
      }
    }

    void free() {
      for (Block block = blocks.poll(); block != null; block = blocks.poll()) {
        if (block.arena != null) {
          idleBytes.addAndGet(-blockBytes);
          block.arena.close();
        }
      }
    }
  }

  /** Memory of one answer. Belongs to whoever took it, who gives it back once. */
  static final class Block implements AnswerMemory {
    private final AnswerPool pool;
    private final Shelf shelf;
    private final MemorySegment memory;

    /** Of a large block, which is freed by itself; null for one that is part of a slab. */
    private final @Nullable Arena arena;

    private Block(AnswerPool pool, Shelf shelf, MemorySegment memory, @Nullable Arena arena) {
      this.pool = pool;
      this.shelf = shelf;
      this.memory = memory;
      this.arena = arena;
    }

    MemorySegment memory() {
      return memory;
    }

    @Override
    public void giveBack() {
      pool.giveBack(this);
    }
  }
}

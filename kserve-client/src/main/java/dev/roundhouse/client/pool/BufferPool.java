package dev.roundhouse.client.pool;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.BitSet;
import java.util.Queue;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Memory in equal slots, handed out as spans of adjacent slots. Waiters are served in order of
 * arrival: small requests do not overtake large ones.
 *
 * <p>Thread-safe. Virtual threads may wait in it. The memory may be a region that a server also
 * maps, so span contents need not be sent.
 */
public final class BufferPool {
  /** Spans begin where a vector register may be loaded, if the memory does. */
  private static final long ALIGNMENT = 64;

  private final MemorySegment memory;
  private final long slotBytes;
  private final int slots;

  private final ReentrantLock lock = new ReentrantLock();
  private final BitSet taken = new BitSet();
  private final Queue<Waiter> waiting = new ArrayDeque<>();
  private int free;

  /**
   * A pool on borrowed memory.
   *
   * @param memory borrowed; what does not make a whole slot at its end is not used
   * @throws IllegalArgumentException when a slot would have less than 64 bytes
   */
  public BufferPool(MemorySegment memory, int slots) {
    if (slots < 1) {
      throw new IllegalArgumentException("a pool has 1 slot or more, got " + slots);
    }
    this.memory = memory;
    this.slots = slots;
    slotBytes = memory.byteSize() / slots / ALIGNMENT * ALIGNMENT;
    free = slots;
    if (slotBytes == 0) {
      throw new IllegalArgumentException(
          "%d bytes are too little for %d slots of %d bytes or more"
              .formatted(memory.byteSize(), slots, ALIGNMENT));
    }
  }

  /**
   * A pool on new off-heap memory.
   *
   * @param arena whose end is the pool's
   */
  public static BufferPool allocate(Arena arena, long bytes, int slots) {
    return new BufferPool(arena.allocate(bytes, ALIGNMENT), slots);
  }

  public long slotBytes() {
    return slotBytes;
  }

  public int slots() {
    return slots;
  }

  /** Slots free now. */
  public int freeSlots() {
    lock.lock();
    try {
      return free;
    } finally {
      lock.unlock();
    }
  }

  /** Waiting callers. */
  int waiting() {
    lock.lock();
    try {
      return waiting.size();
    } finally {
      lock.unlock();
    }
  }

  /** Adjacent slots needed for so many bytes. */
  public int slotsFor(long bytes) {
    if (bytes < 0 || bytes > slots * slotBytes) {
      throw new IllegalArgumentException(
          "%d bytes do not fit into a pool of %d slots of %d bytes"
              .formatted(bytes, slots, slotBytes));
    }
    return (int) Math.max(1, Math.ceilDiv(bytes, slotBytes));
  }

  /**
   * Waits for so many adjacent free slots.
   *
   * @param timeout zero not to wait at all
   * @throws PoolTimeoutException when there are none in time
   * @throws IllegalArgumentException when the pool does not have so many
   */
  public Span acquire(int count, Duration timeout)
      throws PoolTimeoutException, InterruptedException {
    if (count < 1 || count > slots) {
      throw new IllegalArgumentException(
          "a span has 1 to %d slots, got %d".formatted(slots, count));
    }
    lock.lockInterruptibly();
    try {
      int first = waiting.isEmpty() ? take(count) : -1;
      return new Span(this, first >= 0 ? first : await(count, timeout), count);
    } finally {
      lock.unlock();
    }
  }

  private int await(int count, Duration timeout) throws PoolTimeoutException, InterruptedException {
    Waiter waiter = new Waiter(count, lock.newCondition());
    waiting.add(waiter);
    long left = timeout.toNanos();
    try {
      while (waiter.first < 0) {
        if (left <= 0) {
          throw new PoolTimeoutException(count, timeout);
        }
        left = waiter.turn.awaitNanos(left);
      }
    } catch (PoolTimeoutException | InterruptedException e) {
      if (waiter.first >= 0) {
        give(waiter.first, count);
      } else {
        waiting.remove(waiter);
        serve(); // those behind it may want less
      }
      throw e;
    }
    return waiter.first;
  }

  /** The first of so many neighbouring slots, now taken; negative when there are none. */
  private int take(int count) {
    if (count > free) {
      return -1;
    }
    int first = taken.nextClearBit(0);
    while (first + count <= slots) {
      int end = taken.nextSetBit(first);
      if (end < 0 || end - first >= count) {
        taken.set(first, first + count);
        free -= count;
        return first;
      }
      first = taken.nextClearBit(end);
    }
    return -1;
  }

  private void give(int first, int count) {
    taken.clear(first, first + count);
    free += count;
    serve();
  }

  /** Serves waiters in order, up to the first that cannot be served. */
  private void serve() {
    for (Waiter next = waiting.peek(); next != null; next = waiting.peek()) {
      int first = take(next.count);
      if (first < 0) {
        return;
      }
      waiting.remove();
      next.first = first;
      next.turn.signal();
    }
  }

  MemorySegment memory(int first, int count) {
    return memory.asSlice(first * slotBytes, count * slotBytes);
  }

  long offset(int first) {
    return first * slotBytes;
  }

  void release(int first, int count) {
    lock.lock();
    try {
      give(first, count);
    } finally {
      lock.unlock();
    }
  }

  private static final class Waiter {
    final int count;
    final Condition turn;
    int first = -1;

    Waiter(int count, Condition turn) {
      this.count = count;
      this.turn = turn;
    }
  }
}

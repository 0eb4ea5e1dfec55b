package dev.roundhouse.engine.evict;

import dev.roundhouse.engine.schedule.ReadyHeap;
import java.util.Arrays;

/**
 * A policy that ranks models by a number of each one's own. Keeps who is registered, resident and
 * held.
 *
 * <p>Resident models lie in a heap by the rank they had when they were put there. A use raises a
 * rank and does not touch the heap: {@link #victim} looks at the lowest, and when it has risen or
 * the model is held puts it where it belongs and looks again. So a model that is used a thousand
 * times between two evictions is moved once, and nothing is moved while everything fits.
 */
abstract sealed class RankedPolicy implements EvictionPolicy
    permits LeastRecentlyUsed, ExpectedUse {
  private static final int FIRST_LENGTH = 16;
  private static final int UNREGISTERED = -1;

  private final ReadyHeap heap = new ReadyHeap();
  private int[] holds = new int[0]; // or UNREGISTERED
  private boolean[] resident = new boolean[0];

  /** Lower leaves first. May fall between two uses, and rises at a use. */
  abstract long rank(int slot);

  /** Of equal ranks lower leaves first. */
  abstract long secondRank(int slot);

  /** Makes room for what is kept of slots below {@code length}. */
  abstract void ensureLength(int length);

  /** A model begins that nothing is known of. */
  abstract void begin(int slot);

  @Override
  public void register(int slot, long bytes, long reloadNanos) {
    if (bytes < 0 || reloadNanos < 0) {
      throw new IllegalArgumentException(
          "slot %d: %d bytes and %d ns to reload them; neither may be below 0"
              .formatted(slot, bytes, reloadNanos));
    }
    if (slot >= holds.length) {
      int length = holds.length;
      int grown = Math.max(FIRST_LENGTH, Math.max(slot + 1, length * 2));
      holds = Arrays.copyOf(holds, grown);
      Arrays.fill(holds, length, grown, UNREGISTERED);
      resident = Arrays.copyOf(resident, grown);
      ensureLength(grown);
    }
    if (holds[slot] == UNREGISTERED) {
      holds[slot] = 0;
      begin(slot);
    }
  }

  @Override
  public final void unregister(int slot) {
    if (!isRegistered(slot)) {
      return;
    }
    if (resident[slot]) {
      evicted(slot);
    }
    holds[slot] = UNREGISTERED;
  }

  @Override
  public void loaded(int slot, long nowNanos) {
    requireRegistered(slot);
    if (resident[slot]) {
      throw new IllegalStateException("slot " + slot + " is resident already");
    }
    resident[slot] = true;
    place(slot);
  }

  @Override
  public void evicted(int slot) {
    requireRegistered(slot);
    if (!resident[slot]) {
      throw new IllegalStateException("slot " + slot + " is not resident");
    }
    resident[slot] = false;
    heap.remove(slot);
  }

  @Override
  public final void hold(int slot) {
    requireRegistered(slot);
    holds[slot]++;
  }

  @Override
  public final void release(int slot) {
    requireRegistered(slot);
    if (holds[slot] == 0) {
      throw new IllegalStateException("slot " + slot + " is not held");
    }
    holds[slot]--;
    if (holds[slot] == 0 && resident[slot] && !heap.contains(slot)) {
      place(slot);
    }
  }

  @Override
  public final int victim() {
    while (!heap.isEmpty()) {
      int slot = heap.first();
      if (holds[slot] > 0) {
        heap.remove(slot); // until it is released
      } else if (rank(slot) > heap.firstKey()) {
        place(slot);
      } else {
        return slot;
      }
    }
    return -1;
  }

  /** Puts a model where it belongs by its rank now; harmless when it is not in the heap. */
  final void rankAgain(int slot) {
    if (heap.contains(slot)) {
      place(slot);
    }
  }

  final void requireRegistered(int slot) {
    if (!isRegistered(slot)) {
      throw new IllegalStateException("slot " + slot + " is not registered");
    }
  }

  private boolean isRegistered(int slot) {
    return slot < holds.length && holds[slot] != UNREGISTERED;
  }

  private void place(int slot) {
    heap.put(slot, rank(slot), secondRank(slot));
  }
}

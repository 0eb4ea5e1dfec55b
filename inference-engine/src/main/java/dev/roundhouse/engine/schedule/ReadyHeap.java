package dev.roundhouse.engine.schedule;

import java.util.Arrays;

/**
 * Slots of models, ordered by key, then by second key, then by slot, each ascending. Not
 * thread-safe.
 */
public final class ReadyHeap extends SlotHeap {
  private long[] keys = new long[0];
  private long[] seconds = new long[0];

  /** Inserts a slot, or changes its keys. */
  public void put(int slot, long key, long second) {
    ensureSlot(slot);
    keys[slot] = key;
    seconds[slot] = second;
    settle(slot);
  }

  /** The smallest key; {@link Long#MAX_VALUE} when empty. */
  public long firstKey() {
    return isEmpty() ? Long.MAX_VALUE : keys[first()];
  }

  /** The first key of a slot that is in the heap. */
  public long key(int slot) {
    return keys[slot];
  }

  /** Changes the first key of a slot that is in the heap. */
  void rekey(int slot, long key) {
    keys[slot] = key;
    settle(slot);
  }

  @Override
  boolean before(int a, int b) {
    if (keys[a] != keys[b]) {
      return keys[a] < keys[b];
    }
    return seconds[a] != seconds[b] ? seconds[a] < seconds[b] : a < b;
  }

  @Override
  void ensureLength(int length) {
    if (keys.length < length) {
      keys = Arrays.copyOf(keys, length);
      seconds = Arrays.copyOf(seconds, length);
    }
  }
}

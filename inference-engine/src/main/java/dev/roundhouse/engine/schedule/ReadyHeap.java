package dev.roundhouse.engine.schedule;

import java.util.Arrays;

/**
 * Models that have something to run, smallest key first; ties go to the smaller second key, then
 * the lower slot. A binary heap over primitive arrays with each slot's position kept, so that
 * insert, re-key and remove cost O(log ready), whatever the number of registered models. Owned by
 * the dispatch thread.
 */
final class ReadyHeap {
  private static final int ABSENT = -1;

  private int[] heap = new int[16];
  private long[] keys = new long[16];
  private long[] seconds = new long[16];
  private int[] positions = new int[16];
  private int size;

  public ReadyHeap() {
    Arrays.fill(positions, ABSENT);
  }

  int size() {
    return size;
  }

  boolean isEmpty() {
    return size == 0;
  }

  /** The slot with the smallest key. */
  int first() {
    if (size == 0) {
      throw new IllegalStateException("no model is ready");
    }
    return heap[0];
  }

  boolean contains(int slot) {
    return slot < positions.length && positions[slot] != ABSENT;
  }

  /** Inserts a slot, or gives it new keys. */
  void put(int slot, long key, long second) {
    ensureSlot(slot);
    keys[slot] = key;
    seconds[slot] = second;
    int position = positions[slot];
    if (position == ABSENT) {
      if (size == heap.length) {
        heap = Arrays.copyOf(heap, size * 2);
      }
      position = size++;
      place(slot, position);
    }
    siftDown(siftUp(position));
  }

  /** Gives a slot that is there a new first key. */
  void rekey(int slot, long key) {
    put(slot, key, seconds[slot]);
  }

  /** Removes a slot; harmless when it is not there. */
  void remove(int slot) {
    if (!contains(slot)) {
      return;
    }
    int position = positions[slot];
    positions[slot] = ABSENT;
    int last = heap[--size];
    if (position < size) {
      place(last, position);
      siftDown(siftUp(position));
    }
  }

  private int siftUp(int start) {
    int position = start;
    int slot = heap[position];
    while (position > 0) {
      int parent = (position - 1) >>> 1;
      if (!before(slot, heap[parent])) {
        break;
      }
      place(heap[parent], position);
      position = parent;
    }
    place(slot, position);
    return position;
  }

  private void siftDown(int start) {
    int position = start;
    int slot = heap[position];
    while (true) {
      int child = 2 * position + 1;
      if (child >= size) {
        break;
      }
      if (child + 1 < size && before(heap[child + 1], heap[child])) {
        child++;
      }
      if (!before(heap[child], slot)) {
        break;
      }
      place(heap[child], position);
      position = child;
    }
    place(slot, position);
  }

  private boolean before(int a, int b) {
    if (keys[a] != keys[b]) {
      return keys[a] < keys[b];
    }
    return seconds[a] != seconds[b] ? seconds[a] < seconds[b] : a < b;
  }

  private void place(int slot, int position) {
    heap[position] = slot;
    positions[slot] = position;
  }

  private void ensureSlot(int slot) {
    int length = positions.length;
    if (slot >= length) {
      int grown = Math.max(slot + 1, length * 2);
      positions = Arrays.copyOf(positions, grown);
      Arrays.fill(positions, length, grown, ABSENT);
      keys = Arrays.copyOf(keys, grown);
      seconds = Arrays.copyOf(seconds, grown);
    }
  }
}

package dev.roundhouse.engine.schedule;

import java.util.Arrays;

/**
 * A binary heap of slots over primitive arrays, with each slot's position kept, so that insert,
 * move and remove cost O(log size), whatever the number of slots there are. What orders them is
 * kept by the subclass. Not thread-safe.
 */
public abstract sealed class SlotHeap permits ReadyHeap, BoundHeap {
  private static final int ABSENT = -1;

  private int[] heap = new int[Slots.FIRST_LENGTH];
  private int[] positions = new int[Slots.FIRST_LENGTH];
  private int size;

  SlotHeap() {
    Arrays.fill(positions, ABSENT);
  }

  /** True when slot {@code a} comes before slot {@code b}. */
  abstract boolean before(int a, int b);

  /** Makes room for what is kept of slots below {@code length}. */
  abstract void ensureLength(int length);

  public final int size() {
    return size;
  }

  public final boolean isEmpty() {
    return size == 0;
  }

  public final boolean contains(int slot) {
    return slot < positions.length && positions[slot] != ABSENT;
  }

  /** True when there is a slot that is not this one. */
  final boolean hasOther(int slot) {
    return size > (contains(slot) ? 1 : 0);
  }

  /** The slot that comes before all others. */
  public final int first() {
    if (size == 0) {
      throw new IllegalStateException("no model is ready");
    }
    return heap[0];
  }

  /**
   * The slot at a position of the heap: those at {@code 2p + 1} and {@code 2p + 2} come after it.
   */
  final int at(int position) {
    return heap[position];
  }

  /** Removes a slot; harmless when it is not there. */
  public final void remove(int slot) {
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

  /** To be called before what orders a slot is written. */
  final void ensureSlot(int slot) {
    int length = positions.length;
    if (slot >= length) {
      int grown = Slots.lengthFor(slot, length);
      positions = Arrays.copyOf(positions, grown);
      Arrays.fill(positions, length, grown, ABSENT);
    }
    ensureLength(positions.length);
  }

  /** Inserts a slot, or moves it where it now belongs. */
  final void settle(int slot) {
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

  /** Restores the order after everything that makes it has changed. */
  final void settleAll() {
    for (int position = size / 2 - 1; position >= 0; position--) {
      siftDown(position);
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

  private void place(int slot, int position) {
    heap[position] = slot;
    positions[slot] = position;
  }
}

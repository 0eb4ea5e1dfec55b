package dev.roundhouse.engine.schedule;

import java.util.Arrays;

/**
 * A binary heap of slots in primitive arrays. It knows each slot's position, so inserting, moving
 * and removing take O(log size), however many slots exist. The subclass holds the keys. Not
 * thread-safe.
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

  /** Grows the arrays of keys to hold slots below {@code length}. */
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

  /** True when it contains any other slot. */
  final boolean hasOther(int slot) {
    return size > (contains(slot) ? 1 : 0);
  }

  /** The first slot. */
  public final int first() {
    if (size == 0) {
      throw new IllegalStateException("no model is ready");
    }
    return heap[0];
  }

  /**
   * The slot at position p of the heap; those at {@code 2p + 1} and {@code 2p + 2} come after it.
   */
  final int at(int position) {
    return heap[position];
  }

  /** All slots in order, {@link #first} first. */
  final int[] order() {
    return order(this::before);
  }

  /** All slots in another order. */
  final int[] order(Order other) {
    Integer[] slots = new Integer[size];
    for (int position = 0; position < size; position++) {
      slots[position] = heap[position];
    }
    Arrays.sort(slots, (a, b) -> other.before(a, b) ? -1 : other.before(b, a) ? 1 : 0);
    return Arrays.stream(slots).mapToInt(Integer::intValue).toArray();
  }

  /** A strict order of slots. */
  @FunctionalInterface
  interface Order {
    boolean before(int a, int b);
  }

  /** Removes a slot; no effect when absent. */
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

  /** Must be called before the keys of a slot are written. */
  final void ensureSlot(int slot) {
    int length = positions.length;
    if (slot >= length) {
      int grown = Slots.lengthFor(slot, length);
      positions = Arrays.copyOf(positions, grown);
      Arrays.fill(positions, length, grown, ABSENT);
    }
    ensureLength(positions.length);
  }

  /** Inserts a slot, or moves it to its new position. */
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

  /** Restores the order after all keys have changed. */
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

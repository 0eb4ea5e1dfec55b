package dev.roundhouse.engine.schedule;

import java.util.Arrays;
import java.util.function.IntToDoubleFunction;

/**
 * Ready models by an upper bound of their score, largest first; ties go to the earlier arrival,
 * then the lower slot. {@link #best} finds the model with the largest exact score without looking
 * at those whose bound cannot beat it.
 */
final class BoundHeap {
  private static final int ABSENT = -1;

  private int[] heap = new int[16];
  private int[] positions = new int[16];
  private double[] bounds = new double[16];
  private long[] arrivals = new long[16];
  private int size;

  // Of the running search.
  private int bestSlot;
  private double bestScore;

  BoundHeap() {
    Arrays.fill(positions, ABSENT);
  }

  int size() {
    return size;
  }

  boolean isEmpty() {
    return size == 0;
  }

  boolean contains(int slot) {
    return slot < positions.length && positions[slot] != ABSENT;
  }

  void put(int slot, double bound, long arrivalNanos) {
    ensureSlot(slot);
    bounds[slot] = bound;
    arrivals[slot] = arrivalNanos;
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

  /** Gives a model that is there another bound. */
  void rescore(int slot, double bound) {
    put(slot, bound, arrivals[slot]);
  }

  /** Gives every model another bound. */
  void rescoreAll(IntToDoubleFunction bound) {
    for (int i = 0; i < size; i++) {
      bounds[heap[i]] = bound.applyAsDouble(heap[i]);
    }
    for (int i = size / 2 - 1; i >= 0; i--) {
      siftDown(i);
    }
  }

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

  /**
   * The model with the largest exact score.
   *
   * @param exact never above the model's bound
   */
  int best(IntToDoubleFunction exact) {
    if (size == 0) {
      throw new IllegalStateException("no model is ready");
    }
    bestSlot = heap[0];
    bestScore = exact.applyAsDouble(bestSlot);
    search(1, exact);
    search(2, exact);
    return bestSlot;
  }

  /** Below a node bounds only fall, so a node that cannot win ends its branch. */
  private void search(int position, IntToDoubleFunction exact) {
    if (position >= size) {
      return;
    }
    int slot = heap[position];
    if (!before(bounds[slot], slot, bestScore, bestSlot)) {
      return;
    }
    double score = exact.applyAsDouble(slot);
    if (before(score, slot, bestScore, bestSlot)) {
      bestSlot = slot;
      bestScore = score;
    }
    search(2 * position + 1, exact);
    search(2 * position + 2, exact);
  }

  private boolean before(double a, int slotA, double b, int slotB) {
    if (a != b) {
      return a > b;
    }
    return arrivals[slotA] != arrivals[slotB] ? arrivals[slotA] < arrivals[slotB] : slotA < slotB;
  }

  private int siftUp(int start) {
    int position = start;
    int slot = heap[position];
    while (position > 0) {
      int parent = (position - 1) >>> 1;
      if (!before(bounds[slot], slot, bounds[heap[parent]], heap[parent])) {
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
      if (child + 1 < size
          && before(bounds[heap[child + 1]], heap[child + 1], bounds[heap[child]], heap[child])) {
        child++;
      }
      if (!before(bounds[heap[child]], heap[child], bounds[slot], slot)) {
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

  private void ensureSlot(int slot) {
    int length = positions.length;
    if (slot >= length) {
      int grown = Math.max(slot + 1, length * 2);
      positions = Arrays.copyOf(positions, grown);
      Arrays.fill(positions, length, grown, ABSENT);
      bounds = Arrays.copyOf(bounds, grown);
      arrivals = Arrays.copyOf(arrivals, grown);
    }
  }
}

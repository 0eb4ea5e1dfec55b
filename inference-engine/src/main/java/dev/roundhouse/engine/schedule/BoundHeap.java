package dev.roundhouse.engine.schedule;

import java.util.Arrays;
import java.util.function.IntToDoubleFunction;

/**
 * Ready models by an upper bound of their score, largest first; ties go to the earlier arrival,
 * then the lower slot. {@link #best} finds the model with the largest exact score without looking
 * at those whose bound cannot beat it.
 */
final class BoundHeap extends SlotHeap {
  /** Bound (as bits) and arrival of each slot, side by side: they are read together. */
  private long[] pairs = new long[0];

  // Of the running search.
  private int bestSlot;
  private double bestScore;

  void put(int slot, double bound, long arrivalNanos) {
    ensureSlot(slot);
    pairs[2 * slot] = Double.doubleToRawLongBits(bound);
    pairs[2 * slot + 1] = arrivalNanos;
    settle(slot);
  }

  /** Gives a model that is there another bound. */
  void rescore(int slot, double bound) {
    pairs[2 * slot] = Double.doubleToRawLongBits(bound);
    settle(slot);
  }

  /** Gives every model another bound. */
  void rescoreAll(IntToDoubleFunction bound) {
    for (int position = 0; position < size(); position++) {
      int slot = at(position);
      pairs[2 * slot] = Double.doubleToRawLongBits(bound.applyAsDouble(slot));
    }
    settleAll();
  }

  /**
   * The model with the largest exact score.
   *
   * @param exact never above the model's bound
   */
  int best(IntToDoubleFunction exact) {
    bestSlot = first();
    bestScore = exact.applyAsDouble(bestSlot);
    search(1, exact);
    search(2, exact);
    return bestSlot;
  }

  /** Below a node bounds only fall, so a node that cannot win ends its branch. */
  private void search(int position, IntToDoubleFunction exact) {
    if (position >= size()) {
      return;
    }
    int slot = at(position);
    if (!before(bound(slot), slot, bestScore, bestSlot)) {
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

  @Override
  boolean before(int a, int b) {
    return before(bound(a), a, bound(b), b);
  }

  private boolean before(double a, int slotA, double b, int slotB) {
    if (a != b) {
      return a > b;
    }
    long arrivalA = pairs[2 * slotA + 1];
    long arrivalB = pairs[2 * slotB + 1];
    return arrivalA != arrivalB ? arrivalA < arrivalB : slotA < slotB;
  }

  private double bound(int slot) {
    return Double.longBitsToDouble(pairs[2 * slot]);
  }

  @Override
  void ensureLength(int length) {
    if (pairs.length < 2 * length) {
      pairs = Arrays.copyOf(pairs, 2 * length);
    }
  }
}

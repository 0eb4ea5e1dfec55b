package dev.roundhouse.engine.schedule;

import java.util.Arrays;
import java.util.function.IntToDoubleFunction;

/**
 * Ready models by an upper bound of their score, largest first; ties go to the earlier arrival,
 * then the lower slot. {@link #best} finds the model with the largest exact score without looking
 * at those whose bound cannot beat it.
 */
final class BoundHeap extends SlotHeap {
  private double[] bounds = new double[0];
  private long[] arrivals = new long[0];

  private long looks;

  // Of the running search.
  private int bestSlot;
  private double bestScore;

  void put(int slot, double bound, long arrivalNanos) {
    ensureSlot(slot);
    bounds[slot] = bound;
    arrivals[slot] = arrivalNanos;
    settle(slot);
  }

  /** Gives a model that is there another bound. */
  void rescore(int slot, double bound) {
    bounds[slot] = bound;
    settle(slot);
  }

  /** Gives every model another bound. */
  void rescoreAll(IntToDoubleFunction bound) {
    looks += size();
    for (int position = 0; position < size(); position++) {
      bounds[at(position)] = bound.applyAsDouble(at(position));
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
    looks++;
    bestScore = exact.applyAsDouble(bestSlot);
    search(1, exact);
    search(2, exact);
    return bestSlot;
  }

  /** The models by their exact score, that of {@link #best} first. */
  int[] order(IntToDoubleFunction exact) {
    double[] scores = new double[bounds.length];
    for (int position = 0; position < size(); position++) {
      scores[at(position)] = exact.applyAsDouble(at(position));
    }
    return order((a, b) -> before(scores[a], a, scores[b], b));
  }

  /** Below a node bounds only fall, so a node that cannot win ends its branch. */
  private void search(int position, IntToDoubleFunction exact) {
    if (position >= size()) {
      return;
    }
    int slot = at(position);
    if (!before(bounds[slot], slot, bestScore, bestSlot)) {
      return;
    }
    looks++;
    double score = exact.applyAsDouble(slot);
    if (before(score, slot, bestScore, bestSlot)) {
      bestSlot = slot;
      bestScore = score;
    }
    search(2 * position + 1, exact);
    search(2 * position + 2, exact);
  }

  /** Scores that were looked at to find the best or to renew a bound. */
  long looks() {
    return looks;
  }

  @Override
  boolean before(int a, int b) {
    return before(bounds[a], a, bounds[b], b);
  }

  private boolean before(double a, int slotA, double b, int slotB) {
    if (a != b) {
      return a > b;
    }
    return arrivals[slotA] != arrivals[slotB] ? arrivals[slotA] < arrivals[slotB] : slotA < slotB;
  }

  @Override
  void ensureLength(int length) {
    if (bounds.length < length) {
      bounds = Arrays.copyOf(bounds, length);
      arrivals = Arrays.copyOf(arrivals, length);
    }
  }
}

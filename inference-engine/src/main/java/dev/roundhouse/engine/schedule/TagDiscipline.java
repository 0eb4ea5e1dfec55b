package dev.roundhouse.engine.schedule;

import java.util.Arrays;

/**
 * A discipline that goes by how much of the device each model had over its weight, its tag. A model
 * that the virtual clock has passed while it idled starts a run past the clock, so it neither pays
 * for its absence nor saves it up.
 */
abstract sealed class TagDiscipline implements Discipline permits VirtualTime, FairShare {
  private static final int NONE = -1;

  private final VirtualTags tags = new VirtualTags();
  private double[] weights = new double[Slots.FIRST_LENGTH];

  /**
   * A ready model that has been charged and not been placed since: most leave the ready ones next,
   * and need no place.
   */
  private int unplaced = NONE;

  /** What a nanosecond now counts beside one of before. */
  abstract double factor(long nowNanos);

  abstract SlotHeap heap();

  /**
   * True when the model, which is ready, had no more than it is due: others may start level with
   * it.
   */
  abstract boolean isDue(int slot);

  /** The tag or the weight of a ready model changed. */
  abstract void place(int slot);

  /** A model is about to leave those that are ready. */
  abstract void leave(int slot);

  @Override
  public void register(int slot, double weight) {
    if (!(weight > 0)) {
      throw new IllegalArgumentException(
          "weight " + weight + " of slot " + slot + " is not above 0");
    }
    if (slot >= weights.length) {
      weights = Arrays.copyOf(weights, Slots.lengthFor(slot, weights.length));
    }
    placeCharged();
    weights[slot] = weight;
    tags.ensureSlot(slot);
    placeIfReady(slot);
  }

  @Override
  public final void unregister(int slot) {
    notReady(slot);
    weights[slot] = 0;
    tags.forget(slot);
    placeMoved();
  }

  /** To be called before the order of the ready models, or a sum over them, is read. */
  final void placeCharged() {
    int slot = unplaced;
    if (slot != NONE) {
      unplaced = NONE;
      place(slot);
    }
  }

  /** To be called before a model that idled becomes ready. */
  final void join(int slot) {
    tags.join(slot);
  }

  @Override
  public final void notReady(int slot) {
    if (heap().contains(slot)) {
      if (unplaced == slot) {
        unplaced = NONE;
      }
      leave(slot);
      heap().remove(slot);
    }
  }

  @Override
  public final boolean isEmpty() {
    return heap().isEmpty();
  }

  @Override
  public final boolean hasOther(int slot) {
    return heap().hasOther(slot);
  }

  @Override
  public final void charge(int slot, long expectedNanos, long nowNanos) {
    placeCharged();
    double perNano = factor(nowNanos) / weights[slot];
    boolean ready = heap().contains(slot);
    tags.charge(slot, expectedNanos, perNano, ready && isDue(slot), !ready);
    unplaced = ready ? slot : NONE;
  }

  @Override
  public final void correct(int slot, long expectedNanos, long deviceNanos, long nowNanos) {
    placeCharged();
    if (tags.correct(slot, expectedNanos, deviceNanos)) {
      placeMoved();
    }
  }

  final VirtualTags tags() {
    return tags;
  }

  final double weight(int slot) {
    return weights[slot];
  }

  /** The model's tag: device nanoseconds over weight, moved up by idling. */
  final double tag(int slot) {
    return tags.tag(slot);
  }

  private void placeMoved() {
    for (int step = 0; step < tags.size(); step++) {
      placeIfReady(tags.slot(step));
    }
    tags.dropFinal();
  }

  private void placeIfReady(int slot) {
    if (heap().contains(slot)) {
      place(slot);
    }
  }
}

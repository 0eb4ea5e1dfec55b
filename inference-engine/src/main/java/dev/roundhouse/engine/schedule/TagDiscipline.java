package dev.roundhouse.engine.schedule;

import java.util.Arrays;

/**
 * Orders models by tag: device time used, divided by weight. A model that was idle while the
 * virtual clock passed its tag restarts one run past the clock, so idling neither costs nor saves
 * it anything.
 */
abstract sealed class TagDiscipline implements Discipline permits VirtualTime, FairShare {
  private static final int NONE = -1;

  private final VirtualTags tags = new VirtualTags();
  private double[] weights = new double[Slots.FIRST_LENGTH];

  /**
   * A ready model that has been charged and not placed since. Most become idle next, and need no
   * place.
   */
  private int unplaced = NONE;

  /** How much a nanosecond now counts relative to earlier ones. */
  abstract double factor(long nowNanos);

  abstract SlotHeap heap();

  /**
   * True when the model, which is ready, has had no more than its due: others may restart level
   * with it.
   */
  abstract boolean isDue(int slot);

  /** The tag or the weight of a ready model has changed. */
  abstract void place(int slot);

  /** A model is about to stop being ready. */
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

  @Override
  public final String criterion() {
    return "share";
  }

  /** Must be called before the order of ready models, or a sum over them, is read. */
  final void placeCharged() {
    int slot = unplaced;
    if (slot != NONE) {
      unplaced = NONE;
      place(slot);
    }
  }

  /** Must be called before an idle model becomes ready. */
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

  /** The model's tag: device nanoseconds over weight, raised after idling. */
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

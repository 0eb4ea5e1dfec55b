package dev.roundhouse.engine.schedule;

/** Sizes of arrays indexed by a model's slot. */
final class Slots {
  static final int FIRST_LENGTH = 16;

  private Slots() {}

  /** New length for an array that must hold a slot; grows in large steps. */
  static int lengthFor(int slot, int length) {
    return slot < length ? length : Math.max(slot + 1, length * 2);
  }
}

package dev.roundhouse.engine.schedule;

/** Arrays that are indexed by a model's slot. */
final class Slots {
  static final int FIRST_LENGTH = 16;

  private Slots() {}

  /** How long an array should be that is to hold a slot: seldom longer by little. */
  static int lengthFor(int slot, int length) {
    return slot < length ? length : Math.max(slot + 1, length * 2);
  }
}

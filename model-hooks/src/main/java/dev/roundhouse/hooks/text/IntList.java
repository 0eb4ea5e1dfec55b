package dev.roundhouse.hooks.text;

import java.util.Arrays;

/** Token ids as they are found. */
final class IntList {
  private int[] values = new int[32];
  private int size;

  void add(int value) {
    if (size == values.length) {
      values = Arrays.copyOf(values, size * 2);
    }
    values[size++] = value;
  }

  void addReversed(IntList other) {
    for (int i = other.size - 1; i >= 0; i--) {
      add(other.values[i]);
    }
  }

  int size() {
    return size;
  }

  void shrinkTo(int fewer) {
    size = fewer;
  }

  int[] toArray() {
    return Arrays.copyOf(values, size);
  }
}

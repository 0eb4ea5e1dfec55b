package dev.roundhouse.worker.trace;

import java.util.ArrayList;
import java.util.List;

/**
 * What is traced of a request, by Triton's names; nothing when it is neither.
 *
 * @param timestamps when each of its stages began
 * @param tensors what it was asked with and what was answered
 */
record TraceLevels(boolean timestamps, boolean tensors) {
  static final TraceLevels OFF = new TraceLevels(false, false);

  boolean isOn() {
    return timestamps || tensors;
  }

  /** As they are told. */
  List<String> names() {
    List<String> names = new ArrayList<>(2);
    if (timestamps) {
      names.add("TIMESTAMPS");
    }
    if (tensors) {
      names.add("TENSORS");
    }
    return names.isEmpty() ? List.of("OFF") : names;
  }
}

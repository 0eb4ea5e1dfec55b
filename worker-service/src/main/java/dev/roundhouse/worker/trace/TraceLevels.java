package dev.roundhouse.worker.trace;

import java.util.ArrayList;
import java.util.List;

/**
 * What is traced of a request, by Triton's names; nothing when both are false.
 *
 * @param timestamps the start of each of its stages
 * @param tensors its inputs and outputs
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

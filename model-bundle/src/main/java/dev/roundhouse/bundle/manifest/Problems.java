package dev.roundhouse.bundle.manifest;

import dev.roundhouse.bundle.error.BundleException;
import java.util.ArrayList;
import java.util.List;

/** Everything wrong with one manifest, in the order found. */
final class Problems {
  private static final int MAX_TOLD = 50;

  private final String file;
  private final List<String> found = new ArrayList<>();

  Problems(String file) {
    this.file = file;
  }

  /**
   * @param path of the key, such as {@code inputs[0].dtype}
   * @param reason the value and the rule it breaks
   */
  void add(String path, String reason) {
    if (found.size() < MAX_TOLD) {
      found.add(path + " " + reason);
    }
  }

  boolean isEmpty() {
    return found.isEmpty();
  }

  BundleException refusal() {
    return new BundleException(file, found);
  }
}

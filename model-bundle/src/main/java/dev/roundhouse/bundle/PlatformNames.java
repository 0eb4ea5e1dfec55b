package dev.roundhouse.bundle;

import java.util.List;

/**
 * What file names call platforms, which is not in every case what their plugins call themselves.
 */
final class PlatformNames {
  static final List<String> KNOWN = List.of("cpu", "cuda", "rocm", "tpu");

  private PlatformNames() {}

  /** PJRT plugins for CUDA say {@code cuda}, older ones {@code gpu}. */
  static String ofPlugin(String name) {
    return name.equals("gpu") ? "cuda" : name;
  }
}

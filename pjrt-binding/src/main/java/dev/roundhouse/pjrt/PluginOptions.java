package dev.roundhouse.pjrt;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * How to load a plugin.
 *
 * @param path the plugin's file; empty looks in the places that {@link PjrtPlugin#load} names
 * @param xlaFlags value of XLA_FLAGS, which the plugin reads once; an unknown flag ends the process
 * @param cpuThreads size of the CPU plugin's thread pool (PJRT_NPROC); empty means all cores
 */
public record PluginOptions(
    Optional<Path> path, Optional<String> xlaFlags, OptionalInt cpuThreads) {
  public static final PluginOptions DEFAULTS =
      new PluginOptions(Optional.empty(), Optional.empty(), OptionalInt.empty());

  public PluginOptions {
    if (cpuThreads.isPresent() && cpuThreads.getAsInt() < 1) {
      throw new IllegalArgumentException(
          "cpuThreads is " + cpuThreads.getAsInt() + "; it must be 1 or more");
    }
  }

  public PluginOptions withPath(Path path) {
    return new PluginOptions(Optional.of(path), xlaFlags, cpuThreads);
  }

  Map<String, String> environment() {
    Map<String, String> variables = new LinkedHashMap<>();
    xlaFlags.ifPresent(flags -> variables.put("XLA_FLAGS", flags));
    cpuThreads.ifPresent(threads -> variables.put("PJRT_NPROC", Integer.toString(threads)));
    return variables;
  }
}

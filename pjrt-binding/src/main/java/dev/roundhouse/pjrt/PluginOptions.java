package dev.roundhouse.pjrt;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * How to load a plugin.
 *
 * @param platform {@code cpu}, {@code cuda} or another that PJRT knows; decides where the plugin is
 *     looked for
 * @param path the plugin's file; empty looks in the places that {@link PjrtPlugin#load} names
 * @param pythonEnvironment for {@code cuda}: the only Python environment, or folder of packages, to
 *     look for the plugin's package in; empty looks in the active and the system's ones
 * @param xlaFlags added to XLA_FLAGS, which the plugin reads once; each {@code --xla_NAME=VALUE}
 * @param cpuThreads size of the CPU plugin's thread pool (PJRT_NPROC); empty means all cores
 */
public record PluginOptions(
    String platform,
    Optional<Path> path,
    Optional<Path> pythonEnvironment,
    List<String> xlaFlags,
    OptionalInt cpuThreads) {
  /** The host's processors. */
  public static final String CPU = "cpu";

  /** GPUs of NVIDIA's. */
  public static final String CUDA = "cuda";

  public static final PluginOptions DEFAULTS =
      new PluginOptions(CPU, Optional.empty(), Optional.empty(), List.of(), OptionalInt.empty());

  public PluginOptions {
    xlaFlags = List.copyOf(xlaFlags);
    if (cpuThreads.isPresent() && cpuThreads.getAsInt() < 1) {
      throw new IllegalArgumentException(
          "cpuThreads is " + cpuThreads.getAsInt() + "; it must be 1 or more");
    }
  }

  public PluginOptions withPlatform(String platform) {
    return new PluginOptions(platform, path, pythonEnvironment, xlaFlags, cpuThreads);
  }

  public PluginOptions withPath(Path path) {
    return new PluginOptions(platform, Optional.of(path), pythonEnvironment, xlaFlags, cpuThreads);
  }

  public PluginOptions withPythonEnvironment(Path environment) {
    return new PluginOptions(platform, path, Optional.of(environment), xlaFlags, cpuThreads);
  }

  public PluginOptions withXlaFlags(List<String> flags) {
    return new PluginOptions(platform, path, pythonEnvironment, flags, cpuThreads);
  }

  public PluginOptions withCpuThreads(int threads) {
    return new PluginOptions(platform, path, pythonEnvironment, xlaFlags, OptionalInt.of(threads));
  }
}

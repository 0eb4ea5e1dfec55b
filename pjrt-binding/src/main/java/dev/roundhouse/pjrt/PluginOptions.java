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
 * @param forbidsTf32 true to have NVIDIA's libraries compute nothing in TF32
 *     (NVIDIA_TF32_OVERRIDE); of no effect on another platform than {@code cuda}
 */
public record PluginOptions(
    String platform,
    Optional<Path> path,
    Optional<Path> pythonEnvironment,
    List<String> xlaFlags,
    OptionalInt cpuThreads,
    boolean forbidsTf32) {
  /** The host's processors. */
  public static final String CPU = "cpu";

  /** GPUs of NVIDIA's. */
  public static final String CUDA = "cuda";

  public static final PluginOptions DEFAULTS =
      new PluginOptions(
          CPU, Optional.empty(), Optional.empty(), List.of(), OptionalInt.empty(), false);

  public PluginOptions {
    xlaFlags = List.copyOf(xlaFlags);
    if (cpuThreads.isPresent() && cpuThreads.getAsInt() < 1) {
      throw new IllegalArgumentException(
          "cpuThreads is " + cpuThreads.getAsInt() + "; it must be 1 or more");
    }
  }

  public PluginOptions withPlatform(String platform) {
    return new PluginOptions(platform, path, pythonEnvironment, xlaFlags, cpuThreads, forbidsTf32);
  }

  public PluginOptions withPath(Path path) {
    return new PluginOptions(
        platform, Optional.of(path), pythonEnvironment, xlaFlags, cpuThreads, forbidsTf32);
  }

  public PluginOptions withPythonEnvironment(Path environment) {
    return new PluginOptions(
        platform, path, Optional.of(environment), xlaFlags, cpuThreads, forbidsTf32);
  }

  public PluginOptions withXlaFlags(List<String> flags) {
    return new PluginOptions(platform, path, pythonEnvironment, flags, cpuThreads, forbidsTf32);
  }

  public PluginOptions withCpuThreads(int threads) {
    return new PluginOptions(
        platform, path, pythonEnvironment, xlaFlags, OptionalInt.of(threads), forbidsTf32);
  }

  public PluginOptions withoutTf32() {
    return new PluginOptions(platform, path, pythonEnvironment, xlaFlags, cpuThreads, true);
  }

  /** True when something is to be set in the environment before the plugin is opened. */
  boolean needsEnvironment() {
    return !xlaFlags.isEmpty() || cpuThreads.isPresent() || overridesTf32();
  }

  /** True when NVIDIA's libraries are to be told. */
  boolean overridesTf32() {
    return forbidsTf32 && platform.equals(CUDA);
  }
}

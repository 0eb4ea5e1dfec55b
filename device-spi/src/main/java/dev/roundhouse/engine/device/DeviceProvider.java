package dev.roundhouse.engine.device;

import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Opens devices of one kind. Found by {@link java.util.ServiceLoader}, so that what embeds the
 * engine need not name the module that brings the device.
 */
public interface DeviceProvider {

  /** What a configuration calls this kind of device. */
  String name();

  /**
   * Opens a device; the caller closes it.
   *
   * @throws DeviceException when there is none, saying what to do
   */
  Device open(Settings settings);

  /**
   * What can be said of a device without knowing its kind.
   *
   * @param platform what computes, such as {@code cpu} or {@code cuda}
   * @param plugin the plugin's file; empty to look where the provider looks for the platform's
   * @param ordinal which of the platform's devices, from 0; no other is opened
   * @param cpuThreads threads of a device that is the CPU; empty for all cores
   * @param forbidsTf32 true when the libraries of a device must not compute f32 in TF32 even where
   *     a program lets them
   */
  record Settings(
      String platform,
      Optional<Path> plugin,
      int ordinal,
      OptionalInt cpuThreads,
      boolean forbidsTf32) {
    public static final Settings DEFAULT =
        new Settings("cpu", Optional.empty(), 0, OptionalInt.empty(), false);

    public Settings withPlatform(String platform) {
      return new Settings(platform, plugin, ordinal, cpuThreads, forbidsTf32);
    }

    public Settings withPlugin(Path file) {
      return new Settings(platform, Optional.of(file), ordinal, cpuThreads, forbidsTf32);
    }

    public Settings withOrdinal(int ordinal) {
      return new Settings(platform, plugin, ordinal, cpuThreads, forbidsTf32);
    }

    public Settings withoutTf32() {
      return new Settings(platform, plugin, ordinal, cpuThreads, true);
    }
  }
}

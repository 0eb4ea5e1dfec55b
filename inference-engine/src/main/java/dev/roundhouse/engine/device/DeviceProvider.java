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
   * @param plugin the plugin's file; empty to look where the provider looks
   * @param ordinal which of several devices, from 0
   * @param cpuThreads threads of a device that is the CPU; empty for all cores
   */
  record Settings(Optional<Path> plugin, int ordinal, OptionalInt cpuThreads) {
    public static final Settings DEFAULT = new Settings(Optional.empty(), 0, OptionalInt.empty());
  }
}

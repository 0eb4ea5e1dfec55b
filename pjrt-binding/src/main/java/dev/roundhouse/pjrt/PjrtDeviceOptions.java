package dev.roundhouse.pjrt;

import java.util.OptionalLong;

/**
 * How to open a device.
 *
 * @param plugin which plugin, and how to load it
 * @param client passed to the plugin, such as the CUDA plugin's {@code memory_fraction}
 * @param compile used for every program
 * @param ordinal which of the client's devices, from 0
 * @param runBytesLimit the most bytes of outputs and scratch that one run of a program may need;
 *     empty means 75 % of physical memory on a CPU and what the device says elsewhere
 */
public record PjrtDeviceOptions(
    PluginOptions plugin,
    ClientOptions client,
    CompileOptions compile,
    int ordinal,
    OptionalLong runBytesLimit) {
  public static final PjrtDeviceOptions DEFAULTS =
      new PjrtDeviceOptions(
          PluginOptions.DEFAULTS,
          ClientOptions.NONE,
          CompileOptions.DEFAULTS,
          0,
          OptionalLong.empty());

  public PjrtDeviceOptions withPlugin(PluginOptions plugin) {
    return new PjrtDeviceOptions(plugin, client, compile, ordinal, runBytesLimit);
  }

  public PjrtDeviceOptions withRunBytesLimit(long bytes) {
    return new PjrtDeviceOptions(plugin, client, compile, ordinal, OptionalLong.of(bytes));
  }
}

package dev.roundhouse.pjrt;

import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import java.util.OptionalLong;

/**
 * How to open a device.
 *
 * @param plugin which plugin, and how to load it
 * @param client passed to the plugin, such as the CUDA plugin's {@code memory_fraction}
 * @param compile used for every program
 * @param ordinal which of the platform's devices, from 0; where {@code client} has {@code
 *     visible_devices}, which of those
 * @param runBytesLimit the most bytes of outputs and scratch that one run of a program may need;
 *     empty means what the heap leaves of the machine's or container's memory on a CPU, at most 75
 *     % of it, and what the device says elsewhere
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

  public PjrtDeviceOptions {
    if (ordinal < 0) {
      throw new DeviceException(
          Code.INVALID_ARGUMENT, "device ordinal " + ordinal + ": devices count from 0");
    }
  }

  /**
   * The same device, by a client that opens no other: without {@code visible_devices} a CUDA client
   * takes memory of every GPU of the machine.
   */
  PjrtDeviceOptions forOneDevice() {
    boolean isNamed = client.has(ClientOptions.VISIBLE_DEVICES);
    return isNamed || !plugin.platform().equals(PluginOptions.CUDA)
        ? this
        : new PjrtDeviceOptions(
            plugin,
            client.with(ClientOptions.VISIBLE_DEVICES, new long[] {ordinal}),
            compile,
            0,
            runBytesLimit);
  }

  public PjrtDeviceOptions withPlugin(PluginOptions plugin) {
    return new PjrtDeviceOptions(plugin, client, compile, ordinal, runBytesLimit);
  }

  public PjrtDeviceOptions withClient(ClientOptions client) {
    return new PjrtDeviceOptions(plugin, client, compile, ordinal, runBytesLimit);
  }

  public PjrtDeviceOptions withOrdinal(int ordinal) {
    return new PjrtDeviceOptions(plugin, client, compile, ordinal, runBytesLimit);
  }

  public PjrtDeviceOptions withRunBytesLimit(long bytes) {
    return new PjrtDeviceOptions(plugin, client, compile, ordinal, OptionalLong.of(bytes));
  }
}

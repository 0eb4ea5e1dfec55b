package dev.roundhouse.pjrt;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import dev.roundhouse.engine.device.DeviceProvider;
import java.util.List;
import java.util.Optional;

/** Opens PJRT devices for programs that embed the engine. */
public final class PjrtDeviceProvider implements DeviceProvider {

  @Override
  public String name() {
    return "pjrt";
  }

  @Override
  public Device open(Settings settings) {
    if (settings.cpuThreads().isPresent() && !settings.platform().equals(PluginOptions.CPU)) {
      throw new DeviceException(
          Code.INVALID_ARGUMENT,
          "cpuThreads is %d, and platform '%s' has no use for it; leave it out"
              .formatted(settings.cpuThreads().getAsInt(), settings.platform()));
    }
    PluginOptions plugin =
        new PluginOptions(
            settings.platform(),
            settings.plugin(),
            Optional.empty(),
            List.of(),
            settings.cpuThreads(),
            settings.forbidsTf32());
    return PjrtDevice.open(
        PjrtDeviceOptions.DEFAULTS.withPlugin(plugin).withOrdinal(settings.ordinal()));
  }
}

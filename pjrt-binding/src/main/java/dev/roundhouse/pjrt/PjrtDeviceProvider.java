package dev.roundhouse.pjrt;

import dev.roundhouse.engine.device.Device;
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
    PjrtDeviceOptions defaults = PjrtDeviceOptions.DEFAULTS;
    return PjrtDevice.open(
        new PjrtDeviceOptions(
            new PluginOptions(
                PluginOptions.CPU,
                settings.plugin(),
                Optional.empty(),
                List.of(),
                settings.cpuThreads()),
            defaults.client(),
            defaults.compile(),
            settings.ordinal(),
            defaults.runBytesLimit()));
  }
}

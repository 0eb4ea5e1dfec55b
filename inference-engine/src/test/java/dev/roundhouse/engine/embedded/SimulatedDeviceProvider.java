package dev.roundhouse.engine.embedded;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceProvider;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.time.NanoClock;

/** A device that doubles; remembers what was asked for last. */
public final class SimulatedDeviceProvider implements DeviceProvider {
  static volatile Settings asked = Settings.DEFAULT;

  @Override
  public String name() {
    return "doubling";
  }

  @Override
  public Device open(Settings settings) {
    asked = settings;
    return new SimulatedDevice(SimulatedDeviceOptions.instant(TestBundle.DOUBLE), NanoClock.SYSTEM);
  }
}

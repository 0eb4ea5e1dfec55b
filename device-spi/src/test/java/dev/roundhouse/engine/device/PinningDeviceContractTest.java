package dev.roundhouse.engine.device;

import dev.roundhouse.engine.device.SimulatedDeviceOptions.Pinning;

/** The simulated device as one that pins host memory. */
class PinningDeviceContractTest extends SimulatedDeviceContractTest {
  @Override
  protected Device openDevice() {
    return openDevice(Pinning.OFFERED);
  }
}

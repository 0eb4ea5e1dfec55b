package dev.roundhouse.pjrt;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceContractTest;

/** The CPU plugin as users get it: outputs read in place. */
class PjrtDeviceContractTest extends DeviceContractTest {
  @Override
  protected Device openDevice() {
    return PjrtDevice.open(ContractDevice.options());
  }
}

package dev.roundhouse.pjrt;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceContractTest;

/** The CPU plugin read as an accelerator is: every read is a copy by the plugin. */
class PjrtDeviceCopyingContractTest extends DeviceContractTest {
  @Override
  protected boolean showsOutputs() {
    return false;
  }

  @Override
  protected Device openDevice() {
    return PjrtDevice.open(ContractDevice.options(), false);
  }
}

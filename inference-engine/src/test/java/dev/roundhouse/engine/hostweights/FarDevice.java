package dev.roundhouse.engine.hostweights;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceDescription;
import dev.roundhouse.engine.device.ForwardingDevice;

/** A device with memory of its own, to which host memory must be copied. */
final class FarDevice extends ForwardingDevice {
  FarDevice(Device device) {
    super(device);
  }

  @Override
  public DeviceDescription description() {
    DeviceDescription is = super.description();
    return new DeviceDescription(
        is.platform(), is.kind(), is.ordinal(), false, is.onHostProcessors(), is.attributes());
  }
}

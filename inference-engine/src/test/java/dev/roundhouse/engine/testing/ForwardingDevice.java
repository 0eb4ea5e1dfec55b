package dev.roundhouse.engine.testing;

import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceDescription;
import dev.roundhouse.engine.device.DeviceMemory;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.device.ProgramSource;
import java.lang.foreign.MemorySegment;

/** Another device, but for what a test overrides. */
public class ForwardingDevice implements Device {
  private final Device device;

  public ForwardingDevice(Device device) {
    this.device = device;
  }

  @Override
  public DeviceDescription description() {
    return device.description();
  }

  @Override
  public DeviceProgram compile(ProgramSource source) {
    return device.compile(source);
  }

  @Override
  public DeviceBuffer upload(TensorType type, MemorySegment data, HostMemory use) {
    return device.upload(type, data, use);
  }

  @Override
  public Execution execute(DeviceProgram program, DeviceBuffer[] arguments) {
    return device.execute(program, arguments);
  }

  @Override
  public DeviceMemory memory() {
    return device.memory();
  }

  @Override
  public void close() {
    device.close();
  }
}

package dev.roundhouse.engine.device;

import dev.roundhouse.bundle.tensor.TensorType;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/** Another device, but for what a subclass overrides. As thread-safe as that one. */
public abstract class ForwardingDevice implements Device {
  private final Device device;

  protected ForwardingDevice(Device device) {
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
  public Optional<String> compileTarget() {
    return device.compileTarget();
  }

  @Override
  public byte[] serialize(DeviceProgram program) {
    return device.serialize(program);
  }

  @Override
  public DeviceProgram load(String name, byte[] serialized) {
    return device.load(name, serialized);
  }

  @Override
  public DeviceBuffer upload(TensorType type, MemorySegment data, HostMemory use) {
    return device.upload(type, data, use);
  }

  @Override
  public Optional<PartedUpload> uploadInParts(TensorType type) {
    return device.uploadInParts(type);
  }

  @Override
  public Execution execute(DeviceProgram program, DeviceBuffer[] arguments) {
    return device.execute(program, arguments);
  }

  @Override
  public Optional<PinnedMemory> pin(MemorySegment memory) {
    return device.pin(memory);
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

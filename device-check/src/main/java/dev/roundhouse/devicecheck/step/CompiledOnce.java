package dev.roundhouse.devicecheck.step;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.ForwardingDevice;
import dev.roundhouse.engine.device.ProgramSource;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/** A device that compiles each program once, however many models have it. Thread-safe. */
final class CompiledOnce extends ForwardingDevice {
  private final Map<String, byte[]> serialized = new HashMap<>();

  CompiledOnce(Device device) {
    super(device);
  }

  @Override
  public synchronized DeviceProgram compile(ProgramSource source) {
    String code = new String(source.code(), StandardCharsets.ISO_8859_1);
    byte[] known = serialized.get(code);
    if (known != null) {
      return load(source.name(), known);
    }
    DeviceProgram program = super.compile(source);
    serialized.put(code, serialize(program));
    return program;
  }
}

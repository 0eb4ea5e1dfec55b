package dev.roundhouse.measure.turns;

import com.sun.management.OperatingSystemMXBean;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.device.ProgramSource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;

/** Ours: a program called as the engine's dispatch thread calls it. Single-threaded. */
final class JavaCalls implements AutoCloseable {
  private static final OperatingSystemMXBean SYSTEM =
      ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

  private final Device device;
  private final DeviceProgram program;
  private final DeviceBuffer[] arguments;

  /** Borrows the device; compiles and checks the program. */
  JavaCalls(Device device, TinyProgram tiny) {
    this.device = device;
    this.program =
        device.compile(
            new ProgramSource(
                "sum-" + tiny.argumentCount(), tiny.code().getBytes(StandardCharsets.UTF_8)));
    this.arguments = new DeviceBuffer[tiny.argumentCount()];
    TensorType type = new TensorType(DType.F32, Shape.of(TinyProgram.ELEMENTS));
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment values = arena.allocate(type.byteSize(), 64);
      for (int i = 0; i < arguments.length; i++) {
        for (int k = 0; k < TinyProgram.ELEMENTS; k++) {
          values.setAtIndex(ValueLayout.JAVA_FLOAT, k, tiny.fill(i));
        }
        arguments[i] = device.upload(type, values, Device.HostMemory.COPY);
      }
      checkSum(tiny, values);
    }
  }

  CallCost run(int calls) {
    long wall = System.nanoTime();
    long cpu = SYSTEM.getProcessCpuTime();
    for (int i = 0; i < calls; i++) {
      try (Execution execution = device.execute(program, arguments)) {
        execution.await();
      }
    }
    return CallCost.of(System.nanoTime() - wall, SYSTEM.getProcessCpuTime() - cpu, calls);
  }

  @Override
  public void close() {
    for (DeviceBuffer argument : arguments) {
      argument.close();
    }
    program.close();
  }

  private void checkSum(TinyProgram tiny, MemorySegment values) {
    double sum = 0;
    try (Execution execution = device.execute(program, arguments)) {
      execution.await();
      execution.output(0).read(0, values);
    }
    for (int k = 0; k < TinyProgram.ELEMENTS; k++) {
      sum += values.getAtIndex(ValueLayout.JAVA_FLOAT, k);
    }
    if (sum != tiny.expectedSum()) {
      throw new IllegalStateException(
          "%s computed %.1f, expected %.1f".formatted(program.name(), sum, tiny.expectedSum()));
    }
  }
}

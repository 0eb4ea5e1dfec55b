package dev.roundhouse.benchmarks.engine;

import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceDescription;
import dev.roundhouse.engine.device.DeviceMemory;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.device.ProgramSource;
import dev.roundhouse.engine.device.ReferenceFunction;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.time.NanoClock;
import java.lang.foreign.MemorySegment;

/**
 * The simulated device whose runs all take the same time, which notes how long it stands idle
 * between two of them. Executions are started by one thread; figures are read while none runs.
 */
final class PacedDevice implements Device {
  private final SimulatedDevice device;
  private long runNanos;
  private long firstStart;
  private long lastEnd;
  private long idleNanos;

  PacedDevice(long runNanos) {
    this.runNanos = runNanos;
    device =
        new SimulatedDevice(
            SimulatedDeviceOptions.instant(ReferenceFunction.ZERO)
                .withExecutionNanos(program -> this.runNanos),
            NanoClock.SYSTEM);
  }

  /** Has later runs take another time. */
  void pace(long nanos) {
    runNanos = nanos;
  }

  void forget() {
    firstStart = 0;
    idleNanos = 0;
  }

  /** Of the time from the first run's start to the last one's end. */
  double idlePart() {
    return (double) idleNanos / (lastEnd - firstStart);
  }

  @Override
  public Execution execute(DeviceProgram program, DeviceBuffer[] arguments) {
    long start = System.nanoTime();
    if (firstStart == 0) {
      firstStart = start;
    } else {
      idleNanos += Math.max(0, start - lastEnd);
    }
    lastEnd = start + runNanos;
    return device.execute(program, arguments);
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
  public DeviceMemory memory() {
    return device.memory();
  }

  @Override
  public void close() {
    device.close();
  }
}

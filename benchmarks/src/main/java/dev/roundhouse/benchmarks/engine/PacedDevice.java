package dev.roundhouse.benchmarks.engine;

import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.device.ForwardingDevice;
import dev.roundhouse.engine.device.ReferenceFunction;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.time.NanoClock;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The simulated device whose runs all take the same time, which notes how long it stands idle
 * between two of them. Executions are started by one thread; figures are read while none runs.
 */
final class PacedDevice extends ForwardingDevice {
  private long firstStart;
  private long lastEnd;
  private long idleNanos;

  /** Shared with the simulated device: how long the next run takes. */
  private final AtomicLong runNanos;

  PacedDevice(long runNanos) {
    AtomicLong next = new AtomicLong(runNanos);
    super(
        new SimulatedDevice(
            SimulatedDeviceOptions.instant(ReferenceFunction.ZERO)
                .withExecutionNanos(program -> next.get()),
            NanoClock.SYSTEM));
    this.runNanos = next;
  }

  /** Has later runs take another time. */
  void pace(long nanos) {
    runNanos.set(nanos);
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
    lastEnd = start + runNanos.get();
    return super.execute(program, arguments);
  }
}

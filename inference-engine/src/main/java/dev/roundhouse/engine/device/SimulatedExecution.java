package dev.roundhouse.engine.device;

import dev.roundhouse.engine.time.NanoClock;
import java.util.List;

/** A run that is over when the clock says so. */
final class SimulatedExecution implements Execution {
  private final NanoClock clock;
  private final long endNanos;
  private final List<SimulatedBuffer> outputs;

  SimulatedExecution(NanoClock clock, long endNanos, List<SimulatedBuffer> outputs) {
    this.clock = clock;
    this.endNanos = endNanos;
    this.outputs = outputs;
  }

  @Override
  public boolean isDone() {
    return clock.nanoTime() >= endNanos;
  }

  @Override
  public void await() {
    clock.sleepUntil(endNanos);
  }

  @Override
  public DeviceBuffer output(int index) {
    if (!isDone()) {
      throw new DeviceException(
          DeviceException.Code.INVALID_ARGUMENT, "the execution is not over; await it first");
    }
    return outputs.get(index);
  }

  @Override
  public void close() {
    await();
    outputs.forEach(SimulatedBuffer::close);
  }
}

package dev.roundhouse.engine.device;

import dev.roundhouse.engine.time.NanoClock;
import java.util.List;

/** A run that is over when the clock says so. */
final class SimulatedExecution implements Execution {
  private final NanoClock clock;
  private final long endNanos;
  private final List<SimulatedBuffer> outputs;
  private boolean closed;

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
    if (closed) {
      throw new DeviceException(
          DeviceException.Code.CLOSED, "the execution is closed and its outputs are freed");
    }
    if (index < 0 || index >= outputs.size()) {
      throw new DeviceException(
          DeviceException.Code.INVALID_ARGUMENT,
          "output " + index + " was asked for and there are " + outputs.size());
    }
    return outputs.get(index);
  }

  @Override
  public void close() {
    closed = true;
    await();
    outputs.forEach(SimulatedBuffer::close);
  }
}

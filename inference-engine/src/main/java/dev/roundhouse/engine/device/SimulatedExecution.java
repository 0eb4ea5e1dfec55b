package dev.roundhouse.engine.device;

import dev.roundhouse.engine.time.NanoClock;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A run that is over when the clock says so. Nobody watches a clock that a test moves: there the
 * callback is called by whichever call notices the end.
 */
final class SimulatedExecution implements Execution {
  private final NanoClock clock;
  private final long endNanos;
  private final List<SimulatedBuffer> outputs;
  private final AtomicReference<@Nullable Runnable> callback = new AtomicReference<>();
  private final AtomicBoolean hasCallback = new AtomicBoolean();
  private boolean closed;

  SimulatedExecution(NanoClock clock, long endNanos, List<SimulatedBuffer> outputs) {
    this.clock = clock;
    this.endNanos = endNanos;
    this.outputs = outputs;
  }

  @Override
  public boolean isDone() {
    if (clock.nanoTime() < endNanos) {
      return false;
    }
    callBack();
    return true;
  }

  @Override
  public void onDone(Runnable told) {
    if (!hasCallback.compareAndSet(false, true)) {
      throw new DeviceException(
          DeviceException.Code.INVALID_ARGUMENT,
          "the run has a callback; it takes one, given once");
    }
    callback.set(told);
    if (!isDone() && clock == NanoClock.SYSTEM) {
      SimulatedTimer.at(endNanos, this::callBack);
    }
  }

  @Override
  public void await() {
    clock.sleepUntil(endNanos);
    callBack();
  }

  private void callBack() {
    Runnable told = callback.getAndSet(null);
    if (told != null) {
      told.run();
    }
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

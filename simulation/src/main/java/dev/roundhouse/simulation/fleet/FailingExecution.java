package dev.roundhouse.simulation.fleet;

import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.Execution;

/** Takes its time and then turns out to have failed. */
record FailingExecution(Execution execution, DeviceException failure) implements Execution {

  @Override
  public boolean isDone() {
    return execution.isDone();
  }

  @Override
  public void onDone(Runnable callback) {
    execution.onDone(callback);
  }

  @Override
  public void await() {
    execution.await();
    throw failure;
  }

  @Override
  public DeviceBuffer output(int index) {
    throw failure;
  }

  @Override
  public DeviceBuffer take(int index) {
    throw failure;
  }

  @Override
  public void close() {
    execution.close();
  }
}

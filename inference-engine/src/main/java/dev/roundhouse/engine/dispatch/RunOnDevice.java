package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.batch.BatchSlot;
import dev.roundhouse.engine.device.Execution;
import org.jspecify.annotations.Nullable;

/** The one run that is on the device, or none. */
final class RunOnDevice {
  private @Nullable BatchSlot slot;

  /** What {@link #await} got from it. */
  private @Nullable Throwable awaited;

  /** True when somebody is woken at its end. */
  private boolean wakesAtEnd;

  /** True when the device did not take the callback: the end must be looked for. */
  private boolean untold;

  /** The batch that runs; null when none does. */
  @Nullable BatchSlot slot() {
    return slot;
  }

  /** Takes a run that has been started. */
  void started(BatchSlot run, Execution execution, long nowNanos) {
    run.started(execution, nowNanos);
    slot = run;
    wakesAtEnd = false;
    untold = false;
  }

  /** True when there is a run and it is over, or cannot be asked. */
  boolean isOver() {
    BatchSlot run = slot;
    if (run == null) {
      return false;
    }
    try {
      return run.execution().isDone();
    } catch (Throwable e) {
      return true; // waiting for it tells what is wrong with it
    }
  }

  /**
   * Waits for the end, for an engine that is stepped; false, at once, when nothing runs. A failure
   * is reported when the run is found to be over.
   */
  boolean await() {
    BatchSlot run = slot;
    if (run == null) {
      return false;
    }
    try {
      run.execution().await();
    } catch (Throwable e) {
      awaited = e;
    }
    return true;
  }

  /**
   * Lets go of the run, waiting for the device if it must.
   *
   * @return why it failed; null when it did not
   */
  @Nullable Throwable end(BatchSlot run) {
    slot = null;
    Throwable failure = awaited;
    awaited = null;
    try {
      run.execution().await();
    } catch (Throwable e) {
      failure = e;
    }
    return failure;
  }

  /** Has {@code wake} called when the run is over. */
  void wakeAtEnd(Runnable wake) {
    BatchSlot run = slot;
    if (run != null && !wakesAtEnd) {
      wakesAtEnd = true;
      try {
        run.execution().onDone(wake);
      } catch (Throwable e) {
        untold = true; // not the end of the run, nor of the engine
      }
    }
  }

  /** True when the end must be looked for. */
  boolean isUntold() {
    return untold;
  }
}

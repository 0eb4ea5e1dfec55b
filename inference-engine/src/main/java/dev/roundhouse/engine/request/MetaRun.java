package dev.roundhouse.engine.request;

import java.util.concurrent.atomic.AtomicBoolean;

/**
 * One run of a meta, which answers by calling other models. The calls it makes may run ahead of
 * everything that waits, one at a time: what a half-finished run holds is freed soonest by letting
 * it finish, and one at a time keeps any run from taking the device for itself. Thread-safe; its
 * methods are the engine's.
 *
 * <p>Calls of a model's hooks to its own programs are no such: they are the request itself, and
 * wait as it would without hooks ({@link #behindOthers}).
 */
public final class MetaRun {
  private final AtomicBoolean callInLane = new AtomicBoolean();

  /** A run whose calls wait as any other's. */
  public static MetaRun behindOthers() {
    MetaRun run = new MetaRun();
    run.callInLane.set(true);
    return run;
  }

  /** Takes this run's place in the committed lane; false while another call of it is there. */
  public boolean enterLane() {
    return callInLane.compareAndSet(false, true);
  }

  public void leaveLane() {
    callInLane.set(false);
  }
}

package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.model.ProgramModel;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * Tracks since when the dispatch thread has been in a device call, or a run has been in progress,
 * and decides who continues when such a call hangs: the dispatch thread, or the watchdog in its
 * place. Written by the dispatch thread, read and seized by the watchdog.
 */
final class DeviceCalls {
  private static final int OUTSIDE = 0;
  private static final int INSIDE = 1;
  private static final int SEIZED = 2;

  private static final VarHandle STATE;
  private static final VarHandle CALL_SINCE;
  private static final VarHandle RUN_SINCE;
  private static final VarHandle MODEL;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      STATE = lookup.findVarHandle(DeviceCalls.class, "state", int.class);
      CALL_SINCE = lookup.findVarHandle(DeviceCalls.class, "callSinceNanos", long.class);
      RUN_SINCE = lookup.findVarHandle(DeviceCalls.class, "runSinceNanos", long.class);
      MODEL = lookup.findVarHandle(DeviceCalls.class, "model", ProgramModel.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** The model of the latest call or run; opaque, through MODEL. */
  @SuppressWarnings({"FieldMayBeFinal", "UnusedVariable"})
  private @Nullable ProgramModel model;

  /** No call and no run. */
  static final long NONE = Long.MAX_VALUE;

  @SuppressWarnings({"FieldMayBeFinal", "UnusedVariable"}) // written through STATE
  private int state = OUTSIDE;

  @SuppressWarnings({"FieldMayBeFinal", "UnusedVariable"}) // written through CALL_SINCE
  private long callSinceNanos = NONE;

  @SuppressWarnings({"FieldMayBeFinal", "UnusedVariable"}) // written through RUN_SINCE
  private long runSinceNanos = NONE;

  /** The calls and the run from now on are of this model's. */
  void of(ProgramModel next) {
    MODEL.setOpaque(this, next);
  }

  /** The model of the latest call or run; null before the first. */
  @Nullable ProgramModel model() {
    return (ProgramModel) MODEL.getOpaque(this);
  }

  /** The dispatch thread is about to call the device. */
  void enter(long nowNanos) {
    CALL_SINCE.setOpaque(this, nowNanos);
    STATE.setRelease(this, INSIDE);
  }

  /**
   * The call has returned.
   *
   * @throws SeizedException when the watchdog has seized the loop: touch nothing any more
   */
  void leave() {
    if (!STATE.compareAndSet(this, INSIDE, OUTSIDE)) {
      throw new SeizedException();
    }
    CALL_SINCE.setOpaque(this, NONE);
  }

  void runStarted(long nowNanos) {
    RUN_SINCE.setOpaque(this, nowNanos);
  }

  void runEnded() {
    RUN_SINCE.setOpaque(this, NONE);
  }

  /** When the current call or run began; {@link #NONE} for neither. */
  long sinceNanos() {
    return Math.min((long) CALL_SINCE.getOpaque(this), (long) RUN_SINCE.getOpaque(this));
  }

  /** Takes the loop from a dispatch thread that is in a call; false when it is not in one. */
  boolean seize() {
    return STATE.compareAndSet(this, INSIDE, SEIZED);
  }

  /** The loop was taken from the thread that gets this; it must end and touch nothing. */
  static final class SeizedException extends RuntimeException {
    SeizedException() {
      super("the watchdog gave the dispatch thread up", null, false, false);
    }
  }
}

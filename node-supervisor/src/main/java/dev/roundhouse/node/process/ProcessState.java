package dev.roundhouse.node.process;

/** Where a process is in its life; in this order, and from running back to waiting. */
public enum ProcessState {
  /** Has ended, and is started again when its time has come. */
  BACKING_OFF,
  /** Is started when its device's memory is free. */
  WAITING,
  /** Has been started and has not ended. */
  RUNNING,
  /** Has been asked to end. */
  STOPPING,
  /** Has ended and is not started again. */
  STOPPED
}

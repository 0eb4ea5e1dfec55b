package dev.roundhouse.node.process;

/** Where a process is in its life; in this order, and from running back to waiting. */
public enum ProcessState {
  /** Has ended; restarts after its backoff. */
  BACKING_OFF,
  /** Is started when its device's memory is free. */
  WAITING,
  /** Started and running. */
  RUNNING,
  /** Told to end. */
  STOPPING,
  /** Has ended for good. */
  STOPPED
}

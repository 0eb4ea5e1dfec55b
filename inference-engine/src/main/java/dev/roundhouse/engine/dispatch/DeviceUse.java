package dev.roundhouse.engine.dispatch;

/** What the device does at a moment, or why it does nothing. */
public enum DeviceUse {
  /** A batch runs, or a program of a model that is being loaded. */
  RUNNING,
  /** Idle: nobody wants anything. */
  NO_REQUESTS,
  /** Idle: weights are awaited, or room for a run is made, and nothing else can run. */
  WEIGHTS,
  /** Idle: all that could run is held for larger batches. */
  HELD,
  /** Idle: answers of earlier runs are being read, and there is no room for one more batch. */
  ANSWERS,
  /** Idle: the host makes the next batch up, or answers the one before. */
  DISPATCH
}

package dev.roundhouse.simulation.run;

/** How a call ended, as its caller sees it. */
public enum End {
  /** Answered before its deadline, or without having one. */
  IN_TIME,
  /** Answered, too late. */
  LATE,
  /** Accepted and dropped. */
  SHED,
  /** Never accepted. */
  REFUSED,
  FAILED,
  CANCELLED
}

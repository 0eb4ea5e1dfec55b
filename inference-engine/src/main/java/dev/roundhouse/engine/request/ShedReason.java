package dev.roundhouse.engine.request;

/** Why an accepted request was dropped. */
public enum ShedReason {
  /** Its deadline passed while it waited. */
  DEADLINE_PASSED,
  /** There was still time, but less than a run takes. */
  TOO_LITTLE_TIME,
  /** It waited longer than its model's queue lets a request wait. */
  QUEUE_TIMEOUT,
  /** The hand-over to the dispatch thread was full. */
  NO_ROOM,
  /** The engine stopped first. */
  STOPPING
}

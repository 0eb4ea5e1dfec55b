package dev.roundhouse.gateway.schedule;

/** Why models were placed anew. */
public enum Trigger {
  /** They were placed for the first time. */
  STARTUP,

  /** So much device time had passed. */
  COMPUTE,

  /** An operator asked for it. */
  OPERATOR,

  /** A worker came or went. */
  WORKERS
}

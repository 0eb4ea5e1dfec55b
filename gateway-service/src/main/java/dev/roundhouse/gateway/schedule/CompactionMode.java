package dev.roundhouse.gateway.schedule;

/** What workers that get or lose models are asked to do. */
public enum CompactionMode {
  OFF,

  /** To take weights off the device that are not pinned. */
  EAGER,

  /** To take them off, and to bring those of their models back. */
  SCHEDULED
}

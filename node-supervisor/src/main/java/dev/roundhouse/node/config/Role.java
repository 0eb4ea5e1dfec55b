package dev.roundhouse.node.config;

/** Which of a node's processes a supervisor starts. */
public enum Role {
  /** Workers, and a gateway before them when there is more than one. */
  ALL,
  /** Workers only, for gateways elsewhere. */
  WORKERS,
  /** A gateway only, for workers elsewhere. */
  GATEWAY
}

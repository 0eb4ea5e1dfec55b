package dev.roundhouse.engine.transport;

/** What a client wants to do. The operator has a rule for each. */
public enum CallerUse {
  /** Run requests. */
  INFERENCE,
  /** Be told which models there are, and what their tensors are. */
  METADATA,
  /** Be told whether the server and its models are ready. */
  HEALTH
}

package dev.roundhouse.gateway.route;

/** How a model's requests are given to its replicas. */
public enum FillMode {
  /** One replica gets as many items as make a full batch, then another. */
  RUN,

  /** Each request goes to the replica with the fewest items on their way. */
  SPREAD,

  /**
   * Each request goes to the replica whose batch is nearest to being full. When as few calls are
   * outstanding as fit into a batch, all of them go to one replica for ever.
   */
  INFLIGHT
}

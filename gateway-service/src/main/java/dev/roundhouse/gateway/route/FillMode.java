package dev.roundhouse.gateway.route;

/** How a model's requests are distributed over its replicas. */
public enum FillMode {
  /** One replica gets as many items as make a full batch, then another. */
  RUN,

  /** Each request goes to the replica with the fewest outstanding items. */
  SPREAD,

  /**
   * Each request goes to the replica whose batch is nearest to full. When the outstanding calls fit
   * into one batch, one replica gets them all.
   */
  INFLIGHT
}

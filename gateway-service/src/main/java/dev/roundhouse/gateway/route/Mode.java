package dev.roundhouse.gateway.route;

/** How a worker is chosen among those that serve a model. */
public enum Mode {
  /** In turn. */
  ROUND_ROBIN,

  /**
   * The one on which the request is expected to begin first: the least work outstanding, and the
   * time that the model's weights take to the device where they are not on it.
   */
  LEAST_OUTSTANDING,

  /** Among those that the model was placed on. */
  LPT_PACKING
}

package dev.roundhouse.gateway.route;

/** How a worker is chosen among those that serve a model. */
public enum Mode {
  /** In turn. */
  ROUND_ROBIN,

  /**
   * The one expected to begin the request first: the least outstanding work, plus the time to load
   * the model's weights where they are not on the device.
   */
  LEAST_OUTSTANDING,

  /** Among those that the model was placed on. */
  LPT_PACKING
}

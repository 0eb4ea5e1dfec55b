package dev.roundhouse.gateway.placement;

/**
 * A mean in which what was measured counts for half once as much again has been computed. Time is
 * the fleet's device time, not the clock's: an idle night forgets nothing. Immutable.
 *
 * @param value NaN before the first sample
 */
record Ewma(double value) {
  static final Ewma UNMEASURED = new Ewma(Double.NaN);

  boolean isMeasured() {
    return !Double.isNaN(value);
  }

  /**
   * @param computeSeconds of the whole fleet that the sample is about
   * @param halfLifeSeconds of the same kind, above 0
   */
  Ewma with(double sample, double computeSeconds, double halfLifeSeconds) {
    if (!isMeasured()) {
      return new Ewma(sample);
    }
    double alpha = -Math.expm1(-computeSeconds / halfLifeSeconds * Math.log(2));
    return new Ewma(value + alpha * (sample - value));
  }
}

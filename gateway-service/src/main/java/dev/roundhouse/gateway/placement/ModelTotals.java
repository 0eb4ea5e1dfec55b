package dev.roundhouse.gateway.placement;

/**
 * What a worker has done for a model since it started.
 *
 * @param computeSeconds device time
 * @param items that were answered
 * @param requests that were answered
 */
public record ModelTotals(double computeSeconds, long items, long requests) {
  static final ModelTotals NONE = new ModelTotals(0, 0, 0);

  ModelTotals plus(ModelTotals more) {
    return new ModelTotals(
        computeSeconds + more.computeSeconds, items + more.items, requests + more.requests);
  }

  ModelTotals minus(ModelTotals less) {
    return new ModelTotals(
        computeSeconds - less.computeSeconds, items - less.items, requests - less.requests);
  }

  /** False when the worker has counted from the beginning since. */
  boolean isSince(ModelTotals before) {
    return computeSeconds >= before.computeSeconds
        && items >= before.items
        && requests >= before.requests;
  }
}

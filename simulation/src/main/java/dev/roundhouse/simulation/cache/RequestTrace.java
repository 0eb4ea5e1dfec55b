package dev.roundhouse.simulation.cache;

import java.util.List;

/**
 * Requests one after the other, and how popular their models were.
 *
 * @param requests the model of each
 * @param shares part of all requests, by model: over the whole trace when that does not change,
 *     else at its start
 * @param changes of the share of the moment, in order
 */
public record RequestTrace(int[] requests, double[] shares, List<Change> changes) {

  public int models() {
    return shares.length;
  }

  /**
   * A model becomes more or less popular.
   *
   * @param at the request from which on it holds
   * @param share of the model, from then on
   */
  public record Change(int at, int model, double share) {}
}

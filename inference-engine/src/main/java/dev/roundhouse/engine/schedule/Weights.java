package dev.roundhouse.engine.schedule;

import java.util.Arrays;

/** The weights of registered models, and the share of the device each is due. Not thread-safe. */
final class Weights {
  private double[] weights = new double[16];

  /**
   * NaN when it has to be summed afresh: adding and subtracting would let large weights erase
   * small.
   */
  private double total = Double.NaN;

  /**
   * @throws IllegalArgumentException when {@code weight} is not above 0
   */
  void set(int slot, double weight) {
    if (!(weight > 0)) {
      throw new IllegalArgumentException(
          "weight " + weight + " of slot " + slot + " is not above 0");
    }
    if (slot >= weights.length) {
      weights = Arrays.copyOf(weights, Math.max(slot + 1, weights.length * 2));
    }
    weights[slot] = weight;
    total = Double.NaN;
  }

  void clear(int slot) {
    weights[slot] = 0;
    total = Double.NaN;
  }

  double of(int slot) {
    return weights[slot];
  }

  /** The slot's weight over the sum of all, idle models included. */
  double share(int slot) {
    if (Double.isNaN(total)) {
      total = 0;
      for (double weight : weights) {
        total += weight;
      }
    }
    return weights[slot] / total;
  }
}

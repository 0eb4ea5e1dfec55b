package dev.roundhouse.simulation.traffic;

import java.util.SplittableRandom;

/** Times between events that do not know of each other. */
final class Exponential {
  private Exponential() {}

  /** A draw with that mean. */
  static double draw(double mean, SplittableRandom random) {
    return -mean * StrictMath.log(1 - random.nextDouble());
  }
}

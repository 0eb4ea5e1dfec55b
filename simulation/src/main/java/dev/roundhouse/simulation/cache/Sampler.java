package dev.roundhouse.simulation.cache;

import java.util.Arrays;
import java.util.SplittableRandom;

/** Draws ranks by their shares. */
final class Sampler {
  private final double[] upTo;

  Sampler(double[] shares) {
    upTo = shares.clone();
    Arrays.parallelPrefix(upTo, Double::sum);
  }

  int draw(SplittableRandom random) {
    int found = Arrays.binarySearch(upTo, random.nextDouble() * upTo[upTo.length - 1]);
    return Math.min(found < 0 ? -found - 1 : found + 1, upTo.length - 1);
  }
}

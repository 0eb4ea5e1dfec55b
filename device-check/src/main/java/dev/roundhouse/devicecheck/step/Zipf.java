package dev.roundhouse.devicecheck.step;

import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Supplier;

/**
 * Chooses by popularity: number k of the list k to the power of minus the exponent. Thread-safe.
 */
final class Zipf implements Supplier<WeighedModel> {
  private final List<WeighedModel> models;
  private final double[] upTo;
  private final SplittableRandom random;

  Zipf(List<WeighedModel> models, double exponent, long seed) {
    this.models = models;
    random = new SplittableRandom(seed);
    upTo = new double[models.size()];
    double sum = 0;
    for (int i = 0; i < upTo.length; i++) {
      sum += Math.pow(i + 1, -exponent);
      upTo[i] = sum;
    }
  }

  @Override
  public synchronized WeighedModel get() {
    double at = random.nextDouble(upTo[upTo.length - 1]);
    int found = Arrays.binarySearch(upTo, at);
    return models.get(found < 0 ? -found - 1 : found + 1);
  }
}

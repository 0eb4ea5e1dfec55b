package dev.roundhouse.simulation.traffic;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/** Calls that do not know of each other, at a steady rate per model. */
public final class PoissonArrivals implements Arrivals {
  private final double[] cumulative;
  private final double meanGapNanos;
  private final long endNanos;
  private final SplittableRandom random;
  private double now;

  /**
   * @param rates calls a second, by model
   */
  public PoissonArrivals(double[] rates, long endNanos, SplittableRandom random) {
    this.endNanos = endNanos;
    this.random = random;
    cumulative = rates.clone();
    for (int i = 1; i < cumulative.length; i++) {
      cumulative[i] += cumulative[i - 1];
    }
    meanGapNanos = 1e9 / cumulative[cumulative.length - 1];
  }

  @Override
  public @Nullable Arrival next() {
    now += Exponential.draw(meanGapNanos, random);
    return now >= endNanos ? null : new Arrival((long) now, model());
  }

  private int model() {
    int found =
        Arrays.binarySearch(cumulative, random.nextDouble() * cumulative[cumulative.length - 1]);
    int model = found >= 0 ? found + 1 : -found - 1;
    return Math.min(model, cumulative.length - 1);
  }
}

package dev.roundhouse.simulation.fleet;

import java.util.SplittableRandom;

/**
 * What goes wrong with runs, drawn run by run.
 *
 * @param mispredicted share of runs that take {@code factor} times as long, 0 to 1
 * @param failed share of runs that fail, half of them at once and half at their end, 0 to 1
 */
public record Mishaps(double mispredicted, double factor, double failed) {
  public static final Mishaps NONE = new Mishaps(0, 1, 0);

  /** How a run fares. */
  enum Fate {
    NORMAL,
    SLOW,
    /** The device does not take it. */
    REFUSED,
    /** It takes its time and gives no result. */
    FAILED
  }

  Fate draw(SplittableRandom random) {
    double luck = random.nextDouble();
    if (luck < failed) {
      return luck < failed / 2 ? Fate.REFUSED : Fate.FAILED;
    }
    return luck < failed + mispredicted ? Fate.SLOW : Fate.NORMAL;
  }

  long nanos(Fate fate, long expectedNanos) {
    return fate == Fate.SLOW ? Math.round(expectedNanos * factor) : expectedNanos;
  }

  /** How much longer a run takes than expected, on average. */
  public double meanFactor() {
    return 1 + mispredicted * (factor - 1);
  }
}

package dev.roundhouse.simulation.fleet;

import java.util.SplittableRandom;

/** Durations from {@code low} to {@code high} nanoseconds. */
public record NanosRange(long low, long high) {
  public NanosRange {
    if (low <= 0 || high < low) {
      throw new IllegalArgumentException(
          "range " + low + " to " + high + " ns; it starts above 0 and does not fall");
    }
  }

  public static NanosRange of(long nanos) {
    return new NanosRange(nanos, nanos);
  }

  /** Each factor is as likely as the other: half the draws are below the geometric middle. */
  public long draw(SplittableRandom random) {
    return byFactor(low, high, random);
  }

  static long byFactor(long low, long high, SplittableRandom random) {
    double luck = random.nextDouble();
    // StrictMath: the same bits on every machine.
    return Math.clamp(Math.round(low * StrictMath.pow((double) high / low, luck)), low, high);
  }
}

package dev.roundhouse.simulation.fleet;

import java.util.SplittableRandom;

/** Sizes from {@code low} to {@code high} bytes. */
public record BytesRange(long low, long high) {
  /** Of models without weights. */
  public static final BytesRange NONE = new BytesRange(0, 0);

  public BytesRange {
    if (low < 0 || high < low || (low == 0 && high > 0)) {
      throw new IllegalArgumentException(
          "range " + low + " to " + high + " bytes; it is 0, or starts above 0 and does not fall");
    }
  }

  /** Each factor is as likely as the other. Draws nothing where there is no choice. */
  public long draw(SplittableRandom random) {
    return low == high ? low : NanosRange.byFactor(low, high, random);
  }
}

package dev.roundhouse.engine.schedule;

/**
 * A sum whose terms are added, changed and removed. Rounding errors are relative to the largest sum
 * so far, so it must be recomputed from time to time: {@link #isStale} says when, early enough that
 * at least nine digits are right. Not thread-safe.
 */
final class RunningSum {
  private static final double SMALLEST_PART_OF_PEAK = 1e-3;
  private static final int CHANGES = 1_000;

  private double sum;
  private double peak;
  private int changes;

  void add(double amount) {
    sum += amount;
    peak = Math.max(peak, sum);
    changes++;
  }

  /**
   * True when the sum must be recomputed.
   *
   * @param terms how many there are now; spread over as many changes, recomputing costs little
   */
  boolean isStale(int terms) {
    return sum < peak * SMALLEST_PART_OF_PEAK || changes > Math.max(CHANGES, terms);
  }

  void restart(double exact) {
    sum = exact;
    peak = exact;
    changes = 0;
  }

  double value() {
    return sum;
  }
}

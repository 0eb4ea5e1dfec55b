package dev.roundhouse.engine.schedule;

/**
 * A sum whose terms come, change and go. Adding and taking away leaves the rounding of the largest
 * sum there was, so every so often it has to be summed afresh: {@link #isStale} says when, in time
 * for at least nine digits to be right. Not thread-safe.
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
   * True when it has to be summed afresh.
   *
   * @param terms there are now; summing as many costs each change next to nothing
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

package dev.roundhouse.simulation.fleet;

/**
 * What a run of a model takes the device: {@code fixed + row * rows}, in nanoseconds.
 *
 * @param fixedNanos whatever the number of rows
 * @param rowNanos per row of the compiled batch, padding included
 */
public record CostCurve(long fixedNanos, long rowNanos) {

  /** Splits the cost of a run of one row. */
  public static CostCurve ofSingle(long singleNanos, double fixedShare) {
    long fixed = Math.round(singleNanos * fixedShare);
    return new CostCurve(fixed, singleNanos - fixed);
  }

  public long nanos(int rows) {
    return fixedNanos + rowNanos * rows;
  }
}

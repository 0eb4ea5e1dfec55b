package dev.roundhouse.simulation.run;

import dev.roundhouse.simulation.fleet.FleetModel;
import dev.roundhouse.simulation.fleet.NanosRange;
import dev.roundhouse.simulation.fleet.RowTag;
import org.jspecify.annotations.Nullable;

/**
 * What the calls are like.
 *
 * @param slo time from arrival to deadline, drawn per call; null when calls have none
 * @param deadlineTold whether the engine knows the deadline, or only the ledger does
 * @param cancelled share of calls that are cancelled at some moment between arrival and deadline,
 *     or in the first 100 ms; 0 to 1
 * @param oversize share of calls with more than one row, up to three times those of the largest
 *     program; 0 to 1
 */
public record Demand(
    @Nullable NanosRange slo, boolean deadlineTold, double cancelled, double oversize) {
  /** Largest programs that the rows of an oversize call fill. */
  private static final int MAX_PIECES = 3;

  /** A cancelled call without a deadline is cancelled within this time. */
  static final long PATIENCE_NANOS = 100_000_000;

  /** Calls of one row that never give up. */
  public static final Demand PLAIN = new Demand(null, true, 0, 0);

  /** Device time of a call that runs alone, on average. */
  public double meanNanosAlone(FleetModel model) {
    double sum = 0;
    int most = mostRows(model);
    for (int rows = 1; rows <= most && oversize > 0; rows++) {
      sum += model.nanosAlone(rows);
    }
    return (1 - oversize) * model.nanosAlone(1) + oversize * sum / most;
  }

  /** Rows of the largest call. */
  static int mostRows(FleetModel model) {
    return Math.min(MAX_PIECES * model.largestBatch(), RowTag.MAX_ROWS);
  }

  public Demand withSlo(NanosRange range) {
    return new Demand(range, deadlineTold, cancelled, oversize);
  }

  public Demand withDeadlineTold(boolean told) {
    return new Demand(slo, told, cancelled, oversize);
  }
}

package dev.roundhouse.engine.observe;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * How often one program ran, and with how many rows. Written by the dispatch thread, read by any.
 */
public final class BatchTally {
  private static final VarHandle RUNS;
  private static final VarHandle ROWS;

  static {
    try {
      RUNS = MethodHandles.lookup().findVarHandle(BatchTally.class, "runs", long.class);
      ROWS = MethodHandles.lookup().findVarHandle(BatchTally.class, "rows", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  @SuppressWarnings("FieldMayBeFinal") // written through RUNS
  private long runs;

  @SuppressWarnings("FieldMayBeFinal") // written through ROWS
  private long rows;

  /** Counts a run of {@code rowsOfRequests} rows, padding not counted. */
  public void ran(int rowsOfRequests) {
    RUNS.setRelease(this, runs + 1);
    ROWS.setRelease(this, rows + rowsOfRequests);
  }

  public long runs() {
    return (long) RUNS.getAcquire(this);
  }

  public long rows() {
    return (long) ROWS.getAcquire(this);
  }
}

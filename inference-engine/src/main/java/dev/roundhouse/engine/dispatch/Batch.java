package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.device.Execution;
import java.util.List;

/**
 * Rows that run together, and the execution that runs them. Owned by the dispatch thread.
 *
 * @param rows of the slices, without padding
 * @param assembledNanos when the rows left their queue
 * @param startedNanos when the execution was handed to the device
 * @param endedNanos when it was seen to be over; 0 while it runs
 */
record Batch(
    ModelLane lane,
    PreparedProgram program,
    List<Slice> slices,
    int rows,
    Execution execution,
    long assembledNanos,
    long startedNanos,
    long endedNanos) {

  int paddingRows() {
    return program.batchSize() - rows;
  }

  long inputNanos() {
    return startedNanos - assembledNanos;
  }

  long computeNanos() {
    return endedNanos - startedNanos;
  }

  Batch ended(long nanos) {
    return new Batch(lane, program, slices, rows, execution, assembledNanos, startedNanos, nanos);
  }
}

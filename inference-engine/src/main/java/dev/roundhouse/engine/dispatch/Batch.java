package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.request.InferenceRequest;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Rows that run together, and the execution that runs them. Used again for batch after batch, so
 * that making one up costs no allocation. Owned by the dispatch thread.
 *
 * <p>A member is a request or, when it has more rows than a program takes, a piece of one.
 */
final class Batch {
  private @Nullable InferenceRequest[] requests = new @Nullable InferenceRequest[16];
  private int[] firstRows = new int[16];
  private int[] rowCounts = new int[16];
  private int size;
  private int rows;
  private @Nullable ModelLane lane;
  private @Nullable PreparedProgram program;
  private @Nullable Execution execution;
  private long expectedNanos;
  private long assembledNanos;
  private long startedNanos;
  private long endedNanos;

  /**
   * @param nowNanos when its rows leave the queue
   */
  void begin(ModelLane ofLane, PreparedProgram withProgram, long nowNanos) {
    lane = ofLane;
    program = withProgram;
    expectedNanos = Math.round(withProgram.cost().meanNanos());
    assembledNanos = nowNanos;
  }

  void add(InferenceRequest request, int firstRow, int rowCount) {
    if (size == requests.length) {
      requests = Arrays.copyOf(requests, size * 2);
      firstRows = Arrays.copyOf(firstRows, size * 2);
      rowCounts = Arrays.copyOf(rowCounts, size * 2);
    }
    requests[size] = request;
    firstRows[size] = firstRow;
    rowCounts[size] = rowCount;
    size++;
    rows += rowCount;
  }

  void started(Execution running, long nowNanos) {
    execution = running;
    startedNanos = nowNanos;
  }

  void ended(long nowNanos) {
    endedNanos = nowNanos;
  }

  /** Lets go of everything, to be used again. */
  void clear() {
    Arrays.fill(requests, 0, size, null);
    size = 0;
    rows = 0;
    lane = null;
    program = null;
    execution = null;
  }

  /** Members of this batch. */
  int size() {
    return size;
  }

  InferenceRequest request(int member) {
    return Objects.requireNonNull(requests[member]);
  }

  /** The first of the member's rows, counted from the first of its request. */
  int firstRow(int member) {
    return firstRows[member];
  }

  int rowCount(int member) {
    return rowCounts[member];
  }

  /** True when the member holds all rows of its request. */
  boolean isWhole(int member) {
    return rowCounts[member] == request(member).rows();
  }

  /** True when no row of the request is left to run after this batch. */
  boolean isLast(int member) {
    return firstRows[member] + rowCounts[member] == request(member).rows();
  }

  /** Rows of all members, without padding. */
  int rows() {
    return rows;
  }

  int paddingRows() {
    return program().batchSize() - rows;
  }

  ModelLane lane() {
    return Objects.requireNonNull(lane);
  }

  PreparedProgram program() {
    return Objects.requireNonNull(program);
  }

  Execution execution() {
    return Objects.requireNonNull(execution);
  }

  /** Device time it is expected to take, as it was when the batch was formed. */
  long expectedNanos() {
    return expectedNanos;
  }

  long assembledNanos() {
    return assembledNanos;
  }

  long endedNanos() {
    return endedNanos;
  }

  long inputNanos() {
    return startedNanos - assembledNanos;
  }

  long computeNanos() {
    return endedNanos - startedNanos;
  }
}

package dev.roundhouse.engine.schedule;

import java.util.Arrays;

/**
 * Decides how many queued requests of one model run together, from what is queued; never waits.
 * Pure and thread-safe.
 *
 * <p>The rule is ReactantServer's: take the largest compiled size that the queued rows fill, or the
 * smallest when they fill none; when the front request alone needs more, the smallest size that
 * holds it. What no size holds runs piece by piece.
 */
public final class BatchPlanner {
  private final int[] compiledSizes;
  private final int rowCap;
  private final BatchPlan singleRow;

  /**
   * @param compiledSizes at least one; any order
   * @param rowCap most rows that may run together, {@link Integer#MAX_VALUE} for no cap
   */
  public BatchPlanner(int[] compiledSizes, int rowCap) {
    if (compiledSizes.length == 0 || rowCap < 1) {
      throw new IllegalArgumentException(
          "needs a compiled size and a row cap of 1 or more, got "
              + Arrays.toString(compiledSizes)
              + " and "
              + rowCap);
    }
    this.compiledSizes = compiledSizes.clone();
    Arrays.sort(this.compiledSizes);
    this.rowCap = rowCap;
    singleRow = singleRows(1);
  }

  /** Rows of the largest program. */
  public int largest() {
    return compiledSizes[compiledSizes.length - 1];
  }

  /** Most rows of different requests that may run together. */
  public int mostRows() {
    return Math.min(rowCap, largest());
  }

  /**
   * Plans the next batch.
   *
   * @param queued the leading run of requests that could share an execution; at least one
   */
  public BatchPlan plan(Rows queued) {
    return plan(queued, Integer.MAX_VALUE);
  }

  /**
   * As {@link #plan(Rows)}, with a cap for this batch alone.
   *
   * @param mostRows most rows of several requests together
   */
  public BatchPlan plan(Rows queued, int mostRows) {
    int cap = Math.min(rowCap, mostRows);
    int front = queued.rows(0);
    int size = chooseSize(front, queued, cap);
    if (front > size) {
      return new BatchPlan(size, 1, size);
    }
    int limit = Math.min(size, cap);
    int requests = 1;
    int rows = front;
    while (requests < queued.count() && rows + queued.rows(requests) <= limit) {
      rows += queued.rows(requests);
      requests++;
    }
    return new BatchPlan(size, requests, rows);
  }

  /**
   * Plans the next batch of requests that have one row each; as {@link #plan}, without a look at
   * every one.
   *
   * @param count of them, at least one
   */
  public BatchPlan planSingleRows(int count) {
    return count == 1 ? singleRow : singleRows(count);
  }

  private BatchPlan singleRows(int count) {
    int size = largestFilledBy(Math.min(count, mostRows()));
    int rows = Math.min(count, Math.min(size, rowCap));
    return new BatchPlan(size, rows, rows);
  }

  private int chooseSize(int front, Rows queued, int cap) {
    int size = largestFilledBy(Math.min(sumUpTo(Math.min(cap, largest()), queued), cap));
    return size >= front ? size : smallestHolding(front);
  }

  /** The largest size that so many rows fill, or the smallest when they fill none. */
  private int largestFilledBy(int rows) {
    int size = compiledSizes[0];
    for (int candidate : compiledSizes) {
      if (candidate <= rows) {
        size = candidate;
      }
    }
    return size;
  }

  private int smallestHolding(int rows) {
    for (int candidate : compiledSizes) {
      if (candidate >= rows) {
        return candidate;
      }
    }
    return largest();
  }

  /** Sum of the queued rows, no further than needed. */
  private static int sumUpTo(int enough, Rows queued) {
    int sum = 0;
    for (int i = 0; i < queued.count() && sum < enough; i++) {
      sum += queued.rows(i);
    }
    return sum;
  }

  /** Row counts of queued requests, front first. */
  public interface Rows {
    int count();

    int rows(int position);

    static Rows of(int... rows) {
      return new Rows() {
        @Override
        public int count() {
          return rows.length;
        }

        @Override
        public int rows(int position) {
          return rows[position];
        }
      };
    }
  }
}

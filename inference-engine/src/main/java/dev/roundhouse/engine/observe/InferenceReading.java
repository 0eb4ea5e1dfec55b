package dev.roundhouse.engine.observe;

import java.util.Collections;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * What answered requests took, and the runs that they took it in, at one moment. Times are sums in
 * nanoseconds.
 *
 * @param requests that were answered
 * @param answerNanos from their acceptance to their answers
 * @param queueNanos until their batches were assembled
 * @param inputNanos in which their batches were assembled and uploaded
 * @param computeNanos of the runs that they shared, counted for each of them
 * @param outputNanos in which their answers were cut out of the runs' outputs
 * @param lastRunNanos when the latest of those runs began, on the engine's clock; {@link #NEVER}
 *     for none
 * @param runs by their rows, padding not counted
 * @param times how they are spread
 */
public record InferenceReading(
    long requests,
    long answerNanos,
    long queueNanos,
    long inputNanos,
    long computeNanos,
    long outputNanos,
    long lastRunNanos,
    SortedMap<Integer, Runs> runs,
    Times times) {

  /** No run has been answered. */
  public static final long NEVER = Long.MIN_VALUE;

  public static final InferenceReading NOTHING =
      new InferenceReading(0, 0, 0, 0, 0, 0, NEVER, Collections.emptySortedMap(), Times.NONE);

  public InferenceReading {
    runs = Collections.unmodifiableSortedMap(new TreeMap<>(runs));
  }

  /** Both together. */
  public InferenceReading plus(InferenceReading other) {
    if (lastRunNanos == NEVER || other.lastRunNanos == NEVER) {
      return lastRunNanos == NEVER ? other : this;
    }
    SortedMap<Integer, Runs> all = new TreeMap<>(runs);
    other.runs.forEach((rows, more) -> all.merge(rows, more, Runs::plus));
    return new InferenceReading(
        requests + other.requests,
        answerNanos + other.answerNanos,
        queueNanos + other.queueNanos,
        inputNanos + other.inputNanos,
        computeNanos + other.computeNanos,
        outputNanos + other.outputNanos,
        Math.max(lastRunNanos, other.lastRunNanos),
        all,
        times.plus(other.times));
  }

  /** Runs of whatever size. */
  public long executions() {
    return runs.values().stream().mapToLong(Runs::count).sum();
  }

  /** Device time of runs of whatever size, each counted once. */
  public long runNanos() {
    return runs.values().stream().mapToLong(Runs::computeNanos).sum();
  }

  /** Rows of requests in them. */
  public long rows() {
    long rows = 0;
    for (var each : runs.entrySet()) {
      rows += each.getKey() * each.getValue().count();
    }
    return rows;
  }

  /** Runs of one number of rows. */
  public record Runs(long count, long inputNanos, long computeNanos, long outputNanos) {
    Runs plus(Runs other) {
      return new Runs(
          count + other.count,
          inputNanos + other.inputNanos,
          computeNanos + other.computeNanos,
          outputNanos + other.outputNanos);
    }
  }

  /**
   * How times are spread.
   *
   * @param waits of requests, until their batches were assembled
   * @param answers of requests, from their acceptance to their answers
   * @param computes of runs
   */
  public record Times(TimeHistogram waits, TimeHistogram answers, TimeHistogram computes) {
    static final Times NONE =
        new Times(TimeHistogram.EMPTY, TimeHistogram.EMPTY, TimeHistogram.EMPTY);

    Times plus(Times other) {
      return new Times(
          waits.plus(other.waits), answers.plus(other.answers), computes.plus(other.computes));
    }
  }
}

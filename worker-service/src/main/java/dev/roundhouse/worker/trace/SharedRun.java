package dev.roundhouse.worker.trace;

import dev.roundhouse.engine.request.Outcome;
import org.jspecify.annotations.Nullable;

/**
 * The run of a batch, told from others by what all its requests are told of it. Nothing numbers
 * runs: that two end in one nanosecond and are answered in one, too, does not happen.
 */
record SharedRun(long endedNanos, long answeredNanos, int rows, int paddingRows) {

  /** Null when nobody else can have been in it. */
  static @Nullable SharedRun of(Outcome outcome) {
    return outcome instanceof Outcome.Completed completed ? of(completed.timings()) : null;
  }

  /** As {@link #of(Outcome)}. */
  static @Nullable SharedRun of(Outcome.Timings took) {
    return took.batchRows() < 2
        ? null
        : new SharedRun(
            took.answeredNanos() - took.computeOutputNanos(),
            took.answeredNanos(),
            took.batchRows(),
            took.paddingRows());
  }

  /** The same for all its requests, also of those that are sent apart, and no other run's here. */
  String id() {
    return Long.toHexString(endedNanos) + "-" + Long.toHexString(answeredNanos);
  }
}

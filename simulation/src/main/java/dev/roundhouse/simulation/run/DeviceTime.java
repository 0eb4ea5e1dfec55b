package dev.roundhouse.simulation.run;

import dev.roundhouse.simulation.fleet.Run;
import dev.roundhouse.simulation.run.Findings.DeviceUse;

/** Where device time goes: a run's is split evenly over its rows, padding included. */
final class DeviceTime {
  private final long[] ofModel;
  private long busyNanos;
  private long wastedNanos;
  private long paddingNanos;
  private long runs;
  private long rows;

  DeviceTime(int models) {
    ofModel = new long[models];
  }

  /** Counts a run; returns what one of its rows cost. */
  long onRun(Run run) {
    runs++;
    rows += run.rows();
    busyNanos += run.nanos();
    ofModel[run.model().index()] += run.nanos();
    long rowNanos = run.nanos() / run.batchSize();
    paddingNanos += rowNanos * (run.batchSize() - run.rows());
    return rowNanos;
  }

  /** Counts time spent on a call as wasted. */
  void onWasted(long nanos) {
    wastedNanos += nanos;
  }

  long ofModel(int model) {
    return ofModel[model];
  }

  DeviceUse use() {
    return new DeviceUse(busyNanos, wastedNanos, paddingNanos, runs, rows);
  }
}

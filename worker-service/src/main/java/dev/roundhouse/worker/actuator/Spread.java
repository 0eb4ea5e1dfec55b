package dev.roundhouse.worker.actuator;

import dev.roundhouse.engine.observe.InferenceReading;
import dev.roundhouse.engine.observe.TimeHistogram;
import dev.roundhouse.platform.metrics.Buckets;
import java.util.Arrays;

/** What the engine counted of answered requests, as histograms. */
final class Spread {
  private Spread() {}

  static Buckets ofAnswers(InferenceReading of) {
    return times(of.times().answers(), of.answerNanos());
  }

  static Buckets ofWaits(InferenceReading of) {
    return times(of.times().waits(), of.queueNanos());
  }

  static Buckets ofRuns(InferenceReading of) {
    return times(of.times().computes(), of.runNanos());
  }

  static Buckets ofRows(InferenceReading of) {
    if (of.runs().isEmpty()) {
      return new Buckets(0, new long[0], 0);
    }
    long[] counts = new long[Buckets.of(of.runs().lastKey()) + 1];
    of.runs().forEach((rows, runs) -> counts[Buckets.of(rows)] += runs.count());
    return new Buckets(0, counts, of.rows());
  }

  private static Buckets times(TimeHistogram times, long sumNanos) {
    long[] counts = new long[times.size()];
    Arrays.setAll(counts, times::count);
    return new Buckets(times.first(), counts, sumNanos / 1e9);
  }
}

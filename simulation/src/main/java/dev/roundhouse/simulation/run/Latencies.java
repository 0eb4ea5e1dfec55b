package dev.roundhouse.simulation.run;

import dev.roundhouse.simulation.run.Findings.Latency;
import org.HdrHistogram.Histogram;

/** Collects latencies, to three digits. */
final class Latencies {
  private static final long LONGEST_NANOS = 3_600_000_000_000L;

  private final Histogram histogram = new Histogram(LONGEST_NANOS, 3);

  void add(long nanos) {
    histogram.recordValue(Math.min(nanos, LONGEST_NANOS));
  }

  Latency quantiles() {
    return new Latency(
        histogram.getValueAtPercentile(50),
        histogram.getValueAtPercentile(99),
        histogram.getValueAtPercentile(99.9));
  }
}

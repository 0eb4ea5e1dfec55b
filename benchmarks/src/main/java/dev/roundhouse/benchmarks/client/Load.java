package dev.roundhouse.benchmarks.client;

import java.util.Arrays;
import java.util.List;

/** What one run of a client saw. */
public record Load(long requests, double requestsPerSecond, double p50Micros, double p99Micros) {

  /** Sums up what each of its parts saw in the same time. */
  public static Load of(List<Latencies> latencies, long elapsedNanos) {
    long[] all =
        latencies.stream().flatMapToLong(each -> Arrays.stream(each.nanos())).sorted().toArray();
    if (all.length == 0) {
      throw new IllegalStateException("no request was answered");
    }
    return new Load(
        all.length,
        all.length * 1e9 / elapsedNanos,
        all[all.length / 2] / 1e3,
        all[(int) (0.99 * (all.length - 1))] / 1e3);
  }
}

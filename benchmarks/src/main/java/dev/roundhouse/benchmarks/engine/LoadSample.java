package dev.roundhouse.benchmarks.engine;

import dev.roundhouse.measure.Fields;

/** What one run of one side came to. CPU is that of the whole process; p50 is 0 beyond depth 1. */
record LoadSample(
    long requests, double requestsPerSecond, double cpuMicrosPerRequest, double p50Micros) {

  static LoadSample of(Fields line) {
    long requests = line.get("requests");
    return new LoadSample(
        requests,
        requests * 1e9 / line.get("wall_ns"),
        line.get("cpu_ns") / 1e3 / requests,
        line.get("p50_ns") / 1e3);
  }
}

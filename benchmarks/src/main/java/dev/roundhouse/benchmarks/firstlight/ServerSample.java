package dev.roundhouse.benchmarks.firstlight;

import java.time.Duration;

/** How one server did for one round. */
record ServerSample(double p50Micros, double requestsPerSecond, double cpuMicrosPerRequest) {

  static ServerSample of(ClosedLoop.Load load, Duration cpu) {
    return new ServerSample(
        load.p50Micros(), load.requestsPerSecond(), cpu.toNanos() / 1e3 / load.requests());
  }
}

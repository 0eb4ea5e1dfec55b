package dev.roundhouse.benchmarks.serving;

import dev.roundhouse.benchmarks.client.Load;
import java.time.Duration;

/**
 * How one server did for one round.
 *
 * @param cpuMicrosPerRequest of the server's process
 */
public record ServerSample(double p50Micros, double requestsPerSecond, double cpuMicrosPerRequest) {

  static ServerSample of(Load load, Duration cpu) {
    return new ServerSample(
        load.p50Micros(), load.requestsPerSecond(), cpu.toNanos() / 1e3 / load.requests());
  }
}

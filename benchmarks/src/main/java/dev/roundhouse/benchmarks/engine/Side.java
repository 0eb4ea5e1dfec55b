package dev.roundhouse.benchmarks.engine;

import dev.roundhouse.measure.Child;
import dev.roundhouse.measure.Fields;
import java.io.IOException;
import java.time.Duration;
import java.util.List;

/**
 * One side of a comparison: a process that serves no-op models and calls them itself. Both sides
 * are spoken to in the same lines.
 *
 * @param start the fields of its {@code ready} line
 * @param spinMicros how long its caller looks for an answer before it sleeps
 */
record Side(Child process, Fields start, int spinMicros) implements AutoCloseable {
  /** Looking spares a wake-up; where others are at work it takes the vCPU that would answer. */
  private static final List<Integer> SPINS = List.of(5, 100);

  private static final Duration TRIAL = Duration.ofMillis(300);

  /** Waits until every model is served. */
  static Side ready(Child process) throws IOException {
    try {
      return new Side(process, Fields.parse(process.awaitLine("ready ")), SPINS.getFirst());
    } catch (IOException | RuntimeException failure) {
      process.close();
      throw failure;
    }
  }

  /** A side and what it did in a trial. */
  record Trial(Side side, double requestsPerSecond) {}

  /** This side as it is fastest here and now, by trial. */
  Trial fastest(int depth) throws IOException {
    Trial best = new Trial(this, 0);
    for (int spin : SPINS) {
      Side side = new Side(process, start, spin);
      side.run(depth, TRIAL);
      double rate = side.run(depth, TRIAL).requestsPerSecond();
      if (rate > best.requestsPerSecond()) {
        best = new Trial(side, rate);
      }
    }
    return best;
  }

  /** Keeps {@code depth} requests outstanding, round robin over the models, all answers checked. */
  LoadSample run(int depth, Duration duration) throws IOException {
    String line = "%d %d %d".formatted(depth, duration.toMillis(), spinMicros);
    return LoadSample.of(Fields.parse(process.ask(line)));
  }

  /** After a garbage collection where there is such a thing. */
  Footprint footprint() throws IOException {
    return Footprint.of(Fields.parse(process.ask("memory")));
  }

  @Override
  public void close() {
    process.close();
  }
}

package dev.roundhouse.benchmarks.engine;

import dev.roundhouse.benchmarks.measure.Child;
import dev.roundhouse.benchmarks.measure.Fields;
import java.io.IOException;
import java.time.Duration;

/**
 * One side of a comparison: a process that serves no-op models and calls them itself. Both sides
 * are spoken to in the same lines.
 *
 * @param start the fields of its {@code ready} line
 */
record Side(Child process, Fields start) implements AutoCloseable {
  /**
   * How long a caller looks for an answer before it sleeps. More made the peer no faster with many
   * models; less made it slower with one request outstanding.
   */
  static final int CALLER_SPIN_MICROS = 100;

  /** Waits until every model is served. */
  static Side ready(Child process) throws IOException {
    try {
      return new Side(process, Fields.parse(process.awaitLine("ready ")));
    } catch (IOException | RuntimeException failure) {
      process.close();
      throw failure;
    }
  }

  /** Keeps {@code depth} requests outstanding, round robin over the models, all answers checked. */
  LoadSample run(int depth, Duration duration) throws IOException {
    return LoadSample.of(Fields.parse(process.ask(depth + " " + duration.toMillis())));
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

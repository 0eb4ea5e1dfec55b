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
   * How long a caller looks for the only answer it waits for before it sleeps: long enough that the
   * peer, too, is spared the wake-up.
   */
  private static final int SPIN_FOR_ONE_MICROS = 100;

  /**
   * The same with many outstanding, when looking helps neither side, and costs both a vCPU where
   * others are at work.
   */
  private static final int SPIN_FOR_MANY_MICROS = 5;

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
    int spin = depth == 1 ? SPIN_FOR_ONE_MICROS : SPIN_FOR_MANY_MICROS;
    return LoadSample.of(
        Fields.parse(process.ask("%d %d %d".formatted(depth, duration.toMillis(), spin))));
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

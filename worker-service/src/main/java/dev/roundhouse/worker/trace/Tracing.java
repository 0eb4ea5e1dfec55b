package dev.roundhouse.worker.trace;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.worker.config.TraceProperties;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Traces of requests, as the operator configured them: what samples them, what changes which are
 * sampled, and what writes them. Thread-safe.
 */
public final class Tracing implements AutoCloseable {
  private final TraceWriter writer;
  private final Tracer tracer;
  private final TraceSettings settings;

  /**
   * @throws StartRefusedException when what is configured cannot be traced
   */
  public Tracing(TraceProperties properties, Engine engine) {
    boolean traces = properties.level() == TraceProperties.Level.TIMESTAMPS;
    checkFile(properties.file(), traces);
    writer = new TraceWriter(Path.of(properties.file()));
    tracer = new Tracer(writer, engine::nanoTime);
    settings =
        new TraceSettings(
            new TraceSetting(
                traces, properties.rate(), properties.count(), properties.logFrequency()),
            new File(properties.file()).getName(), // its folder is not the clients' to know
            model -> engine.model(model).isPresent(),
            tracer);
  }

  private static void checkFile(String file, boolean traces) {
    if (file.isEmpty()) {
      if (traces) {
        throw new StartRefusedException(
            "roundhouse.worker.trace.level asks for traces, and roundhouse.worker.trace.file says of no file that they could go to.",
            "Set roundhouse.worker.trace.file, or leave the level out.");
      }
      return;
    }
    Path folder = Path.of(file).toAbsolutePath().getParent();
    if (folder == null || !Files.isDirectory(folder)) {
      throw new StartRefusedException(
          "roundhouse.worker.trace.file is %s, and there is no folder %s.".formatted(file, folder),
          "Make the folder, or name a file in another.");
    }
  }

  public Tracer tracer() {
    return tracer;
  }

  public TraceSettings settings() {
    return settings;
  }

  /** Traces that are in files. */
  public long written() {
    return writer.written();
  }

  /** Traces that were lost: too many came at once, or they could not be written. */
  public long dropped() {
    return writer.dropped();
  }

  /** Writes what has been traced. */
  @Override
  public void close() {
    writer.close();
  }
}

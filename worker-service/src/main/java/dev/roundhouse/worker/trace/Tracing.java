package dev.roundhouse.worker.trace;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.worker.config.TraceProperties;
import dev.roundhouse.worker.config.TraceProperties.Level;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Traces of requests as the operator configured them: wires the sampler, the settings and the
 * writer. Thread-safe.
 */
public final class Tracing implements AutoCloseable {
  private final TraceWriter writer;
  private final Tracer tracer;
  private final TraceSettings settings;

  /**
   * @param sendsSpans whether there is a collector
   * @throws StartRefusedException when the configuration cannot work
   */
  public Tracing(TraceProperties properties, Engine engine, boolean sendsSpans) {
    TraceLevels levels = levels(properties.level());
    checkFile(properties.file(), levels.isOn());
    TensorCopies copies =
        new TensorCopies(
            Math.toIntExact(properties.maxTensorBytes().toBytes()),
            engine::takeBytes,
            engine::giveBackBytes);
    writer =
        new TraceWriter(
            Path.of(properties.file()),
            copies,
            properties.maxFiles(),
            properties.maxBytes().toBytes());
    tracer = new Tracer(writer, copies, engine::nanoTime);
    settings =
        new TraceSettings(
            new TraceSetting(
                levels,
                properties.rate(),
                properties.count(),
                properties.logFrequency(),
                TraceMode.TRITON),
            new File(properties.file()).getName(), // its folder is not the clients' to know
            sendsSpans,
            model -> engine.model(model).isPresent(),
            tracer);
  }

  private static TraceLevels levels(List<Level> wanted) {
    if (wanted.contains(Level.OFF) && wanted.size() > 1) {
      throw new StartRefusedException(
          "roundhouse.worker.trace.level asks for off and for something else.",
          "Leave one of them out.");
    }
    return new TraceLevels(wanted.contains(Level.TIMESTAMPS), wanted.contains(Level.TENSORS));
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

  /** Traces written to files. */
  public long written() {
    return writer.written();
  }

  /** Traces that were lost: too many came at once, or they could not be written. */
  public long dropped() {
    return writer.dropped();
  }

  /** Writes what is queued. */
  @Override
  public void close() {
    writer.close();
  }
}

package dev.roundhouse.worker.tee;

import dev.roundhouse.engine.observe.LogThrottle;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Writes batches of all chosen models to files, on the thread {@code tee}. */
final class BatchFiles implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(BatchFiles.class);

  private final TeeFolder folder;
  private final LogThrottle trouble = new LogThrottle(log);
  private final List<BatchReader> readers = new CopyOnWriteArrayList<>();
  private final LongAdder written = new LongAdder();
  private final LongAdder failed = new LongAdder();

  BatchFiles(Path folder, long mostBytes) {
    this.folder = new TeeFolder(folder, mostBytes);
  }

  /** Writes the batches of a model from now on. */
  void follow(TeedModel model, Executor thread) {
    AtomicBoolean wanted = new AtomicBoolean();
    readers.add(
        model.read(
            () -> {
              if (wanted.compareAndSet(false, true)) {
                try {
                  thread.execute(
                      () -> {
                        wanted.set(false);
                        drain();
                      });
                } catch (RejectedExecutionException stopped) {
                  // drained by then
                }
              }
            }));
  }

  /** Writes what is there. On the thread {@code tee}. */
  void drain() {
    for (BatchReader reader : readers) {
      for (Batch batch = reader.next(); batch != null; batch = reader.next()) {
        try (Batch taken = batch) {
          write(taken);
          taken.done();
        }
      }
    }
  }

  private void write(Batch batch) {
    try {
      folder.write(name(batch), SafetensorsFile.of(batch));
      written.increment();
    } catch (IOException | RuntimeException e) {
      failed.increment();
      trouble.warn(
          "a batch of model '%s' could not be written to a file: %s"
              .formatted(batch.spec().model(), e));
    }
  }

  private static String name(Batch batch) {
    StringBuilder name = new StringBuilder();
    for (byte each : batch.spec().model().getBytes(StandardCharsets.UTF_8)) {
      boolean isPlain =
          (each >= 'a' && each <= 'z')
              || (each >= 'A' && each <= 'Z')
              || (each >= '0' && each <= '9')
              || each == '-'
              || each == '_'
              || (each == '.' && !name.isEmpty());
      name.append(isPlain ? String.valueOf((char) each) : "%%%02x".formatted(each & 0xff));
    }
    return name.toString();
  }

  long written() {
    return written.sum();
  }

  long failed() {
    return failed.sum();
  }

  @Override
  public void close() {
    readers.forEach(BatchReader::close);
  }
}

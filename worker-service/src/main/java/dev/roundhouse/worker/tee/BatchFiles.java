package dev.roundhouse.worker.tee;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;

/** Writes batches of all chosen models to files, on the thread {@code tee}. */
final class BatchFiles implements AutoCloseable {
  private final TeeFolder folder;
  private final FailureLog failures;
  private final List<BatchReader> readers = new CopyOnWriteArrayList<>();
  private final LongAdder written = new LongAdder();
  private final LongAdder failed = new LongAdder();

  BatchFiles(Path folder, long mostBytes, FailureLog failures) {
    this.folder = new TeeFolder(folder, mostBytes);
    this.failures = failures;
  }

  /**
   * Writes the batches of a model from now on.
   *
   * @param thread {@code tee}
   */
  void follow(TeedModel model, Executor thread) {
    AtomicBoolean wanted = new AtomicBoolean();
    readers.add(model.read(() -> drainSoon(wanted, thread)));
  }

  private void drainSoon(AtomicBoolean wanted, Executor thread) {
    if (!wanted.compareAndSet(false, true)) {
      return;
    }
    boolean isTaken = false;
    try {
      thread.execute(
          () -> {
            wanted.set(false);
            drain();
          });
      isTaken = true;
    } finally {
      if (!isTaken) { // or nobody would ever ask again
        wanted.set(false);
      }
    }
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
    } catch (IOException | RuntimeException | Error e) { // the next may be written
      failed.increment();
      failures.say("a batch of model '" + batch.spec().model() + "' could not be written", e);
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

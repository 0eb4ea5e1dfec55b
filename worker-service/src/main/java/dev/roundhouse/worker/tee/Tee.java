package dev.roundhouse.worker.tee;

import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.platform.access.NamePatterns;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.worker.config.TeeProperties;
import dev.roundhouse.worker.tee.TeeCounts.Drop;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Copies requests of chosen models with their answers: the tap that all transports' requests pass,
 * and the thread {@code tee} behind it. Thread-safe.
 */
public final class Tee implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(Tee.class);
  private static final long LOOK_SECONDS = 1;

  private final TeeProperties settings;
  private final NamePatterns chosen;
  private final Function<String, Optional<ModelStatus>> models;
  private final LongSupplier clock;
  private final TeeMemory memory;
  private final FailureLog failures = new FailureLog();
  private final CopyThread copies;
  private final @Nullable BatchFiles files;
  private final Map<String, TeedModel> teed = new ConcurrentHashMap<>();
  private final ScheduledExecutorService thread =
      Executors.newSingleThreadScheduledExecutor(
          Thread.ofPlatform().daemon().name("tee").factory());
  private volatile boolean closed;

  /**
   * @param models what is known of each by its name
   * @param clock in nanoseconds
   * @throws StartRefusedException when the settings cannot work
   */
  public Tee(
      TeeProperties settings, Function<String, Optional<ModelStatus>> models, LongSupplier clock) {
    this.settings = settings;
    this.models = models;
    this.clock = clock;
    chosen = new NamePatterns(settings.models());
    memory = new TeeMemory(settings.maxMemory().toBytes());
    Path folder = settings.folder();
    if (!settings.isOn()) {
      throw new StartRefusedException(
          "roundhouse.worker.tee says who reads copies of requests, and roundhouse.worker.tee.models chooses none.",
          "Set roundhouse.worker.tee.models to names, or to '*', or leave .folder, .port and .socket out.");
    }
    if (folder != null && !Files.isDirectory(folder)) {
      throw new StartRefusedException(
          "roundhouse.worker.tee.folder is %s, and there is no such folder.".formatted(folder),
          "Make the folder, or name another.");
    }
    if (folder == null && !settings.isListening()) {
      throw new StartRefusedException(
          "roundhouse.worker.tee.models chooses models to copy, and nobody could have the copies.",
          "Set roundhouse.worker.tee.folder, .port or .socket, or leave .models out.");
    }
    files =
        folder == null ? null : new BatchFiles(folder, settings.folderSize().toBytes(), failures);
    copies = new CopyThread(settings.maxWaiting().toBytes(), failures);
    var unused =
        thread.scheduleWithFixedDelay(this::look, LOOK_SECONDS, LOOK_SECONDS, TimeUnit.SECONDS);
  }

  private void look() {
    try {
      teed.values().forEach(TeedModel::look);
    } catch (RuntimeException | Error e) { // or it would never look again
      failures.say("the rings of the tee could not be looked after", e);
    }
  }

  // --- the tap

  /**
   * The sink for the answer of a request: its own, or one that copies both before.
   *
   * @param inputs borrowed until the sink is told of the end
   */
  public AnswerSink tapped(String model, List<InputTensor> inputs, AnswerSink sink) {
    TeedModel of = teed.get(model);
    if (of == null) {
      if (!chosen.match(model)) {
        return sink;
      }
      of = beginOrSay(model);
    }
    if (of == null || !of.isRead() || closed || !isSampled()) {
      return sink;
    }
    try {
      return tapped(of, inputs, sink);
    } catch (RuntimeException | Error e) { // it costs no request
      of.failed(e, 1);
      return sink;
    }
  }

  private AnswerSink tapped(TeedModel of, List<InputTensor> inputs, AnswerSink sink) {
    ModelSpec made = of.serving();
    if (made == null) {
      return sink;
    }
    if (of.isRefused(made)) {
      of.counts().dropped(Drop.NOT_FIXED, RowCopy.rows(made, inputs));
      return sink;
    }
    return new Tapped(of, made, copies, inputs, sink);
  }

  private boolean isSampled() {
    double ratio = settings.sampleRatio();
    return ratio >= 1 || ThreadLocalRandom.current().nextDouble() < ratio;
  }

  /** The next request tries again. */
  private @Nullable TeedModel beginOrSay(String model) {
    try {
      return begin(model);
    } catch (RuntimeException | Error e) {
      failures.say("requests of model '" + model + "' could not be begun to be copied", e);
      return null;
    }
  }

  /** Null for a model that there is not: clients must not have names kept. */
  private @Nullable TeedModel begin(String model) {
    if (models.apply(model).isEmpty()) {
      return null;
    }
    TeedModel added = new TeedModel(model, this);
    TeedModel before = teed.putIfAbsent(model, added);
    if (before != null) {
      return before;
    }
    if (files == null) {
      return added;
    }
    boolean isFollowed = false;
    try {
      files.follow(added, this::execute);
      isFollowed = true;
    } finally {
      if (!isFollowed) {
        teed.remove(model, added);
      }
    }
    return added;
  }

  // --- readers

  /** What there is for a reader of a model, and what reads it; the taker closes that. */
  public record Opened(BatchReader reader, TeeSpec spec) {}

  /** Whether copies of a model may be read at all. */
  public boolean isChosen(String model) {
    return chosen.match(model);
  }

  /**
   * Begins to read a model's batches, with the next row. Done on the thread {@code tee}, or failed
   * with a {@link NotTeedException}.
   *
   * @param wake called, by any thread and briefly, when there may be another batch
   */
  public CompletableFuture<Opened> open(String model, Runnable wake) {
    CompletableFuture<Opened> opened = new CompletableFuture<>();
    try {
      thread.execute(
          () -> {
            try {
              opened.complete(openNow(model, wake));
            } catch (NotTeedException | RuntimeException | Error e) {
              opened.completeExceptionally(e);
            }
          });
    } catch (RejectedExecutionException e) {
      opened.completeExceptionally(new NotTeedException("the worker is stopping", false));
    }
    return opened;
  }

  private Opened openNow(String model, Runnable wake) throws NotTeedException {
    TeedModel of = teed.get(model);
    of = of == null ? begin(model) : of;
    if (of == null || of.serving() == null) {
      throw notReady(model);
    }
    BatchReader reader = of.read(wake);
    Opened opened = null;
    try {
      TeeSpec spec = of.prepareNow();
      if (spec == null) {
        NotTeedException why = of.refusal();
        throw why == null ? notReady(model) : why;
      }
      opened = new Opened(reader, spec);
      return opened;
    } finally {
      if (opened == null) { // or a ring would be filled for nobody
        reader.close();
      }
    }
  }

  private static NotTeedException notReady(String model) {
    return new NotTeedException("model '%s' is not ready".formatted(model), false);
  }

  // --- for models

  /** On the thread {@code tee}, if it has not stopped. */
  void execute(Runnable task) {
    try {
      thread.execute(
          () -> {
            try {
              task.run();
            } catch (RuntimeException | Error e) { // which the executor would keep to itself
              failures.say("the thread 'tee' could not do its work", e);
            }
          });
    } catch (RejectedExecutionException stopped) {
      // nobody waits for it
    }
  }

  FailureLog failures() {
    return failures;
  }

  /** What serves; null when it is not ready. */
  @Nullable ModelStatus status(String model) {
    return models.apply(model).filter(ModelStatus::isReady).orElse(null);
  }

  long nanoTime() {
    return clock.getAsLong();
  }

  int batchRows() {
    return settings.batchSize();
  }

  Ring ring(TeeSpec spec, TeeCounts counts) throws NotTeedException {
    int buffers = settings.numBuffers();
    long bytes = spec.batchBytes() * buffers;
    if (!memory.take(bytes)) {
      throw new NotTeedException(
          "%d batches of model '%s' need %d bytes, and roundhouse.worker.tee.max-memory is %d, of which %d are taken; raise it, or lower roundhouse.worker.tee.batch-size or .num-buffers"
              .formatted(buffers, spec.model(), bytes, memory.limit(), memory.held()),
          false);
    }
    RingMemory own;
    try {
      own = new RingMemory(spec, buffers, memory, thread);
    } catch (OutOfMemoryError e) { // the system has less than max-memory says
      memory.giveBack(bytes);
      throw new NotTeedException(
          "there are no %d bytes for %d batches of model '%s': %s"
              .formatted(bytes, buffers, spec.model(), e.getMessage()),
          false);
    } catch (RuntimeException | Error e) {
      memory.giveBack(bytes);
      throw e;
    }
    try {
      return new Ring(spec, buffers, own, counts, clock);
    } catch (RuntimeException | Error e) {
      own.release();
      throw e;
    }
  }

  // --- figures

  /** What one model's rows do at the moment, and have done. */
  public record Figures(String model, long stored, long capacity, TeeCounts counts) {}

  /** Of all models that were asked, or that somebody wanted to read. */
  public List<Figures> figures() {
    Collection<TeedModel> all = teed.values();
    return all.stream()
        .map(each -> new Figures(each.name(), each.stored(), each.capacity(), each.counts()))
        .toList();
  }

  public long heldBytes() {
    return memory.held();
  }

  public long limitBytes() {
    return memory.limit();
  }

  /** Files that were written; 0 without a folder. */
  public long filesWritten() {
    return files == null ? 0 : files.written();
  }

  /** Batches that were to be files and could not be. */
  public long filesFailed() {
    return files == null ? 0 : files.failed();
  }

  /** Whole batches become files; what is in none is lost. */
  @Override
  public void close() {
    closed = true;
    copies.close();
    teed.values().forEach(TeedModel::end);
    if (files != null) {
      execute(files::drain);
    }
    thread.shutdown();
    try {
      if (!thread.awaitTermination(10, TimeUnit.SECONDS)) {
        log.warn("batches are still being written to {}", settings.folder());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (files != null) {
      files.close();
    }
  }
}

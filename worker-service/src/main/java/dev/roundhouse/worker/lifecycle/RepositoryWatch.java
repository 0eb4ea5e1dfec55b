package dev.roundhouse.worker.lifecycle;

import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.worker.lifecycle.RepositoryScan.Found;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Follows the repository: what is added is loaded, what is changed replaced, what is removed
 * unloaded, each when two polls in a row have seen the same, so that no bundle is loaded while it
 * is being copied. A directory or a model that cannot be read for the moment leaves what serves
 * alone. A model whose load keeps failing is tried again a few times, then left alone until its
 * files change; one that found no thread or process is tried until it does. Polls on the thread
 * {@code watch}: every interval, and soon after {@link FolderSignals} has heard of a change. Tests
 * call {@link #poll}.
 */
final class RepositoryWatch implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(RepositoryWatch.class);

  /** Of the polls that a model waits which found no thread: up to 8. */
  private static final int MOST_DOUBLINGS = 3;

  /** What has to stay the same for so long after a change, and again from one look to the next. */
  private static final long QUIET_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  /** Of the time between two looks that are not due, how much a look may take: a tenth. */
  private static final long LOOK_SHARE = 10;

  private final ModelRepository repository;
  private final Supplier<RepositoryScan> scan;
  private final int loadAttempts;
  private final Map<String, Model> models = new HashMap<>();
  private final Set<Object> complainedOf = new HashSet<>();
  private final ScheduledExecutorService watch =
      Executors.newSingleThreadScheduledExecutor(
          Thread.ofPlatform().daemon().name("watch").factory());
  private final AtomicBoolean isLookAhead = new AtomicBoolean();
  private volatile long heardNanos = System.nanoTime();
  private volatile @Nullable FolderSignals signals;
  private Set<Path> folders = Set.of();
  private boolean unsettled;
  private volatile long lookNanos;

  /**
   * @param loadAttempts loads of the same files before they are left alone
   */
  RepositoryWatch(ModelRepository repository, Supplier<RepositoryScan> scan, int loadAttempts) {
    this.repository = repository;
    this.scan = scan;
    this.loadAttempts = loadAttempts;
  }

  /** Records the models already loaded from these files. */
  synchronized void begin(RepositoryScan atStart) {
    complain(atStart);
    atStart.models().forEach((name, found) -> models.put(name, new Model(found)));
    folders = atStart.folders();
  }

  /** Polls from now on, an interval after each poll has ended. */
  void start(Duration interval) {
    listen(interval);
    watch.scheduleWithFixedDelay(
        () -> pollAndCarryOn(true), interval.toNanos(), interval.toNanos(), TimeUnit.NANOSECONDS);
  }

  private synchronized void listen(Duration interval) {
    try {
      signals = FolderSignals.open(this::heard);
    } catch (IOException e) {
      log.info(
          "changes of the repository are noticed every {} ms: {}",
          interval.toMillis(),
          e.getMessage());
    }
    cover();
  }

  /** Waits for no look that is under way: a drive that is away may hold it up. */
  @Override
  public void close() {
    watch.shutdownNow();
    FolderSignals listening = signals;
    if (listening != null) {
      listening.close();
    }
  }

  /** Something has changed: it is looked at as soon as it is quiet. */
  private void heard() {
    heardNanos = System.nanoTime();
    lookSoon();
  }

  private void lookSoon() {
    if (isLookAhead.compareAndSet(false, true)) {
      lookIn(Math.max(QUIET_NANOS, LOOK_SHARE * lookNanos));
    }
  }

  private void lookIn(long nanos) {
    try {
      watch.schedule(this::lookWhenQuiet, nanos, TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException e) {
      // closed
    }
  }

  private void lookWhenQuiet() {
    long toWait = QUIET_NANOS - (System.nanoTime() - heardNanos);
    if (toWait > 0) {
      lookIn(toWait); // files are being written: whatever is seen now will not stay
      return;
    }
    isLookAhead.set(false);
    if (pollAndCarryOn(false)) {
      heardNanos = System.nanoTime(); // so that the second look comes as long after the first
      lookSoon();
    }
  }

  /** True when another look has to say whether what was seen stays. */
  private boolean pollAndCarryOn(boolean due) {
    try {
      synchronized (this) {
        var unused = poll(due);
        return unsettled;
      }
    } catch (RuntimeException | Error e) { // or it would never be looked at again
      log.error("the repository could not be looked at; trying again", e);
      return false;
    }
  }

  /** As {@link #poll(boolean)}, as it is due. */
  CompletableFuture<Void> poll() {
    return poll(true);
  }

  /**
   * Looks once and starts what follows from it.
   *
   * @param due whether an interval has passed, which those wait for that failed to load
   * @return completes when what was started has ended
   */
  private synchronized CompletableFuture<Void> poll(boolean due) {
    long began = System.nanoTime();
    RepositoryScan seen = scan.get();
    lookNanos = System.nanoTime() - began;
    folders = seen.folders();
    unsettled = false;
    cover();
    complain(seen);
    List<CompletableFuture<?>> started = new ArrayList<>();
    // Before anything is unloaded, so that a renamed model answers under one of its names.
    seen.models().forEach((name, found) -> look(name, found, due, started));
    for (String name : List.copyOf(models.keySet())) {
      Model model = models.get(name);
      if (model != null && !seen.models().containsKey(name)) {
        missing(name, model, seen, started);
      }
    }
    return CompletableFuture.allOf(started.toArray(CompletableFuture<?>[]::new));
  }

  private void cover() {
    FolderSignals listening = signals;
    if (listening != null && listening.cover(folders)) {
      heard();
    }
  }

  private void look(String name, Found found, boolean due, List<CompletableFuture<?>> started) {
    Model model = models.computeIfAbsent(name, unknown -> new Model());
    model.polledMissing = 0;
    boolean settled = found.fingerprint().equals(model.seen);
    model.seen = found.fingerprint();
    if (!found.readable() && model.loaded) {
      return; // what serves is all right; the folder may come back
    }
    if (!found.fingerprint().equals(model.acted)) {
      if (settled) {
        model.acted = found.fingerprint();
        model.failures = 0;
        model.starved = 0;
        load(name, model, found, started);
      } else {
        unsettled = true;
      }
    } else if (due && model.isTriedAgain(loadAttempts) && --model.pollsToWait <= 0) {
      load(name, model, found, started);
    }
  }

  private void missing(
      String name, Model model, RepositoryScan seen, List<CompletableFuture<?>> started) {
    Path directory = model.folder == null ? null : model.folder.getParent();
    if (directory != null && seen.unreadable().containsKey(directory)) {
      return;
    }
    model.seen = "";
    if (++model.polledMissing >= 2) {
      models.remove(name);
      log.info("model '{}' is not in the repository any more; unloading it", name);
      repository.note(name, "");
      started.add(repository.unload(name).exceptionally(stopped -> null));
    } else {
      unsettled = true;
    }
  }

  private void load(String name, Model model, Found found, List<CompletableFuture<?>> started) {
    model.folder = found.folder();
    model.pollsToWait = Integer.MAX_VALUE;
    String files = model.acted;
    started.add(
        repository.refresh(found.folder()).thenAccept(status -> loaded(name, files, status)));
  }

  /** Records how a load ended. */
  synchronized void loaded(String name, String files, ModelStatus status) {
    Model model = models.get(name);
    if (model == null || !model.acted.equals(files)) {
      return; // there is something newer
    }
    if (status.isReady()) {
      model.loaded = true;
      model.failures = 0;
      model.starved = 0;
      repository.note(name, "");
      return;
    }
    if (status.starved()) {
      model.starved++;
      model.pollsToWait = 1 << Math.min(model.starved, MOST_DOUBLINGS);
      repository.note(name, "; tried again until there are threads and processes");
      return;
    }
    model.starved = 0;
    model.failures++;
    model.pollsToWait = 1 << Math.min(model.failures, 10);
    if (model.failures >= loadAttempts) {
      log.error(
          "model '{}' failed to load {} times; it is left alone until its files change",
          name,
          model.failures);
      repository.note(
          name, "; tried " + model.failures + " times, and not again until its files change");
    }
  }

  /** The same trouble is said once, until it is over. */
  private void complain(RepositoryScan seen) {
    seen.unreadable()
        .forEach(
            (directory, why) -> {
              if (complainedOf.add(directory)) {
                log.error("repository {}; what was loaded from it serves on", why);
              }
            });
    seen.hidden()
        .forEach(
            folder -> {
              if (complainedOf.add(folder)) {
                log.error(
                    "model folder {} is ignored: another directory has the same name", folder);
              }
            });
    complainedOf.removeIf(
        each -> !seen.unreadable().containsKey(each) && !seen.hidden().contains(each));
  }

  /** What is known of a name. */
  private static final class Model {
    private @Nullable Path folder;

    /** The files that were last handed to the engine. */
    private String acted = "";

    /** The files at the last poll. */
    private String seen = "";

    private boolean loaded;

    /** Loads of the files that failed, but for those that found no thread or process. */
    private int failures;

    /** Loads in a row that found no thread or process. */
    private int starved;

    private int pollsToWait;
    private int polledMissing;

    boolean isTriedAgain(int loadAttempts) {
      return starved > 0 || (failures > 0 && failures < loadAttempts);
    }

    Model() {}

    Model(Found found) {
      folder = found.folder();
      acted = found.fingerprint();
      seen = found.fingerprint();
    }
  }
}

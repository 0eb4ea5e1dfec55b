package dev.roundhouse.worker.lifecycle;

import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.worker.lifecycle.RepositoryScan.Found;
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
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
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
 * {@code watch}, or when a test calls {@link #poll}.
 */
final class RepositoryWatch implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(RepositoryWatch.class);

  /** Of the polls that a model waits which found no thread: up to 8. */
  private static final int MOST_DOUBLINGS = 3;

  private final ModelRepository repository;
  private final Supplier<RepositoryScan> scan;
  private final int loadAttempts;
  private final Map<String, Model> models = new HashMap<>();
  private final Set<Object> complainedOf = new HashSet<>();
  private final ScheduledExecutorService watch =
      Executors.newSingleThreadScheduledExecutor(
          Thread.ofPlatform().daemon().name("watch").factory());

  /**
   * @param loadAttempts loads of the same files before they are left alone
   */
  RepositoryWatch(ModelRepository repository, Supplier<RepositoryScan> scan, int loadAttempts) {
    this.repository = repository;
    this.scan = scan;
    this.loadAttempts = loadAttempts;
  }

  /** Takes note of what is loaded already, from these files. */
  synchronized void begin(RepositoryScan atStart) {
    complain(atStart);
    atStart.models().forEach((name, found) -> models.put(name, new Model(found)));
  }

  /** Polls from now on, an interval after each poll has ended. */
  void start(Duration interval) {
    watch.scheduleWithFixedDelay(
        this::pollAndCarryOn, interval.toNanos(), interval.toNanos(), TimeUnit.NANOSECONDS);
  }

  @Override
  public void close() {
    watch.shutdownNow();
  }

  private void pollAndCarryOn() {
    try {
      var unused = poll();
    } catch (RuntimeException | Error e) { // or it would never be looked at again
      log.error("the repository could not be looked at; trying again", e);
    }
  }

  /**
   * Looks once and starts what follows from it.
   *
   * @return completes when what was started has ended
   */
  synchronized CompletableFuture<Void> poll() {
    RepositoryScan seen = scan.get();
    complain(seen);
    List<CompletableFuture<?>> started = new ArrayList<>();
    // Before anything is unloaded, so that a renamed model answers under one of its names.
    seen.models().forEach((name, found) -> look(name, found, started));
    for (String name : List.copyOf(models.keySet())) {
      Model model = models.get(name);
      if (model != null && !seen.models().containsKey(name)) {
        missing(name, model, seen, started);
      }
    }
    return CompletableFuture.allOf(started.toArray(CompletableFuture<?>[]::new));
  }

  private void look(String name, Found found, List<CompletableFuture<?>> started) {
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
      }
    } else if (model.isTriedAgain(loadAttempts) && --model.pollsToWait <= 0) {
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
    }
  }

  private void load(String name, Model model, Found found, List<CompletableFuture<?>> started) {
    model.folder = found.folder();
    model.pollsToWait = Integer.MAX_VALUE;
    String files = model.acted;
    started.add(
        repository.refresh(found.folder()).thenAccept(status -> loaded(name, files, status)));
  }

  /** Takes note of how a load ended. */
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

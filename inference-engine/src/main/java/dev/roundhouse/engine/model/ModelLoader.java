package dev.roundhouse.engine.model;

import dev.roundhouse.bundle.VersionPolicy;
import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.time.NanoClock;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A model's life: built in the background, published in one step, retired when something newer
 * serves or it is unloaded, freed when nothing of it runs. A failure affects only that version, its
 * reason is kept, and what served before continues. Changes of one name happen one after the other.
 * Thread-safe; models are built on the threads {@code compile-n}, freed on {@code unload}.
 */
public final class ModelLoader {
  private static final Logger log = LoggerFactory.getLogger(ModelLoader.class);

  /** Why, of a load that is cancelled because the engine stops or has failed. */
  private static final String ENGINE_ENDED = "the engine ended before it was ready";

  /** How the JVM tells it. */
  private static final String NO_THREAD = "native thread";

  private final ModelRegistry registry;
  private final ModelBuilder builder;
  private final NanoClock clock;
  private final ModelLoadListener loads;
  private final Executor compilers;
  private final Executor unloader;
  private final ServingLanes lanes;

  /** Models of which it was said that they found no thread, and that have not been ready since. */
  private final Set<String> starved = ConcurrentHashMap.newKeySet();

  private volatile boolean stopping;

  public ModelLoader(LoadContext context) {
    registry = context.registry();
    clock = context.clock();
    loads = context.loads();
    compilers = context.compilers();
    unloader = context.unloader();
    lanes = context.lanes();
    builder = new ModelBuilder(context, registry.slots(), this::quarantine, () -> stopping);
  }

  /**
   * Starts to load what a policy selects in a model's folder. A version that nothing serves is
   * registered, as loading, before this returns; one that serves is replaced when the new is ready.
   * When all that is selected is ready, what is not selected is retired.
   *
   * @param changedOnly leave alone what serves and whose files are the same
   * @return completes with the newest version; when one failed, with that, which need not mean that
   *     nothing serves; never exceptionally
   */
  public CompletableFuture<ModelStatus> load(
      Path folder, VersionPolicy policy, boolean changedOnly) {
    return load(folder.getFileName().toString(), Candidate.in(folder, policy), changedOnly);
  }

  /** As {@link #load(Path, VersionPolicy, boolean)}, for a model that has been read already. */
  public CompletableFuture<ModelStatus> load(ModelImage image) {
    return load(image.spec().name(), List.of(new Candidate.Image(image)), false);
  }

  /** As {@link #load(ModelImage)}, with code between callers and its programs. */
  public CompletableFuture<ModelStatus> load(ModelImage image, ModelCode.Read code) {
    return load(image.spec().name(), List.of(new Candidate.Coded(image, code)), false);
  }

  /** As {@link #load(Path, VersionPolicy, boolean)}, for a model that calls others. */
  public CompletableFuture<ModelStatus> load(ComposedModel model) {
    return load(model.name(), List.of(new Candidate.Composed(model)), false);
  }

  private CompletableFuture<ModelStatus> load(
      String name, List<Candidate> candidates, boolean changedOnly) {
    RegisteredModel model = registry.register(name);
    registry.publish(model, versions -> announced(name, versions, candidates));
    Supplier<ModelStatus> load = () -> loadNow(model, candidates, changedOnly);
    return model.next(
        () -> {
          try {
            return CompletableFuture.supplyAsync(load, compilers)
                .thenCompose(status -> settled(model, status));
          } catch (RejectedExecutionException stopped) {
            return CompletableFuture.completedFuture(load.get()); // it says so
          }
        });
  }

  /**
   * Stops versions of a name from answering; what they have accepted still runs.
   *
   * @param version empty for all
   * @return completes when they have been freed, at once when there are none; exceptionally when
   *     the engine is closed first
   */
  public CompletableFuture<Void> unload(String name, String version) {
    RegisteredModel model = registry.get(name);
    Predicate<String> wanted = each -> version.isEmpty() || version.equals(each);
    return model == null
        ? CompletableFuture.completedFuture(null)
        : model.next(() -> unloadNow(model, wanted));
  }

  /** Has loads that have not begun fail at once; for shutdown. */
  public void stop() {
    stopping = true;
  }

  /** Frees what is left; only when nothing runs any more. */
  public void close() {
    for (RegisteredModel model : registry.models()) {
      for (PublishedVersion each : model.versions().all()) {
        if (each.serving() != null) {
          PublishedVersion unloaded = PublishedVersion.of(each.status().unloaded());
          registry.publish(model, versions -> versions.with(unloaded));
          free(model, each.serving());
        }
      }
    }
    for (ProgramModel left : registry.slots().all()) {
      free(registry.register(left.name()), left); // it was being retired
    }
  }

  /** A meta is loaded when that has ended which it calls. */
  private CompletableFuture<ModelStatus> settled(RegisteredModel model, ModelStatus status) {
    PublishedVersion loaded = model.versions().find(status.version());
    Servable serving = loaded == null ? null : loaded.serving();
    if (serving == null || status.state() != ModelState.LOADING) {
      return CompletableFuture.completedFuture(status);
    }
    CompletableFuture<?>[] called =
        serving.spec().calls().stream()
            .map(registry::get)
            .filter(Objects::nonNull)
            .map(RegisteredModel::changed)
            .toArray(CompletableFuture<?>[]::new);
    return CompletableFuture.allOf(called)
        .handle(
            (ended, failure) -> {
              PublishedVersion now = model.versions().find(status.version());
              return now == null ? status : now.status();
            });
  }

  private static ModelVersions announced(
      String name, ModelVersions versions, List<Candidate> candidates) {
    ModelVersions announced = versions;
    for (Candidate candidate : candidates) {
      PublishedVersion current = versions.find(candidate.version());
      if (current == null || current.serving() == null) {
        ModelStatus loading = ModelStatus.loading(name, candidate.version());
        announced = announced.with(PublishedVersion.of(loading));
      }
    }
    return announced;
  }

  private ModelStatus loadNow(
      RegisteredModel model, List<Candidate> candidates, boolean changedOnly) {
    ModelStatus last = null;
    ModelStatus failed = null;
    for (Candidate candidate : candidates) {
      last = loadVersion(model, candidate, changedOnly);
      failed = last.isReady() ? failed : last;
    }
    if (failed == null) {
      retireOthers(model, candidates);
    }
    return failed == null ? Objects.requireNonNull(last) : failed;
  }

  private ModelStatus loadVersion(RegisteredModel model, Candidate candidate, boolean changedOnly) {
    long started = clock.nanoTime();
    String fingerprint = candidate.fingerprint();
    PublishedVersion current = model.versions().find(candidate.version());
    Servable serving = current == null ? null : current.serving();
    if (changedOnly
        && current != null
        && serving != null
        && !fingerprint.isEmpty()
        && serving.fingerprint().equals(fingerprint)) {
      return confirm(model, serving, current.status().loadNanos());
    }
    Servable built = null;
    boolean begun = false;
    boolean ready = false;
    boolean opened = false;
    try {
      if (stopping) {
        throw new CancellationException("the server is stopping");
      }
      loads.onBegin(model.name(), candidate.version(), fingerprint);
      begun = true;
      built = candidate.build(builder, fingerprint);
      ProgramModel programs = built.inLane();
      if (programs != null) {
        loads.onBuilt(model.name(), candidate.version(), programs.modelIndex());
      }
      lanes.open(built).join();
      opened = true;
      ModelStatus status = publish(model, built, serving, started);
      ready = true;
      return status;
    } catch (RuntimeException | Error e) {
      if (opened) {
        retire(model, Objects.requireNonNull(built));
      } else if (built != null) {
        builder.free(built);
      }
      return onFailed(model, candidate, fingerprint, e, started);
    } finally {
      if (begun) {
        loads.onEnd(model.name(), candidate.version(), ready);
      }
    }
  }

  /** The files are what serves, again if they were something else meanwhile. */
  private ModelStatus confirm(RegisteredModel model, Servable serving, long loadNanos) {
    ModelStatus status = status(serving, loadNanos);
    registry.publish(model, versions -> versions.with(new PublishedVersion(status, serving)));
    return status;
  }

  private ModelStatus publish(
      RegisteredModel model, Servable built, @Nullable Servable before, long started) {
    ModelStatus ready = status(built, clock.nanoTime() - started);
    if (!ready.isReady() && before != null) {
      throw new BundleException(built.name(), ready.reason());
    }
    PublishedVersion published = new PublishedVersion(ready, built);
    ProgramModel programs = built.inLane();
    model.totals().add(built.counters(), (programs == null ? built : programs).counters());
    starved.remove(model.name());
    registry.publish(model, versions -> versions.with(published));
    if (ready.isReady()) {
      log.info(
          "model '{}' version {} is ready after {} ms",
          built.name(),
          built.version(),
          TimeUnit.NANOSECONDS.toMillis(ready.loadNanos()));
    } else {
      log.warn("model '{}' version {}: {}", built.name(), built.version(), ready.reason());
    }
    if (before != null) {
      retire(model, before);
    }
    return ready;
  }

  private ModelStatus status(Servable serving, long loadNanos) {
    ModelContract contract = serving.contract();
    ModelStatus ready =
        ModelStatus.loading(serving.name(), serving.version())
            .ready(serving.spec(), contract.batched() ? contract.largestBatch() : 0, loadNanos);
    return registry.called().status(ready, serving);
  }

  /**
   * @param fingerprint of the files before they were read
   */
  private ModelStatus onFailed(
      RegisteredModel model,
      Candidate candidate,
      String fingerprint,
      Throwable failure,
      long started) {
    Throwable cause =
        failure instanceof CompletionException && failure.getCause() != null
            ? failure.getCause()
            : failure;
    boolean expected = cause instanceof BundleException || cause instanceof DeviceException;
    boolean isStarved = isStarved(cause);
    boolean engineEnded = cause instanceof CancellationException;
    String reason = engineEnded ? ENGINE_ENDED : describe(cause);
    ModelStatus failed =
        ModelStatus.loading(model.name(), candidate.version())
            .failed(reason, clock.nanoTime() - started, isStarved);
    registry.publish(model, versions -> versions.with(afterFailure(versions, failed)));
    boolean isServed = model.versions().isReady();
    String serves = isServed ? "; what served before still does" : "";
    if (engineEnded) {
      log.warn("model '{}' is not loaded: {}", model.name(), reason);
    } else if (isStarved && !starved.add(model.name())) {
      log.debug("model '{}' failed to load again: {}", model.name(), reason);
    } else if (isStarved) {
      log.error(
          "model '{}' failed to load for want of a thread or a process: {}{}; this is not said again until it is ready",
          model.name(),
          reason,
          serves);
    } else if (expected && candidate.isOther(fingerprint)) {
      log.warn(
          "model '{}' is not {}: its files changed while they were read: {}{}",
          model.name(),
          isServed ? "replaced" : "loaded",
          reason,
          serves);
    } else if (expected || stopping) {
      log.error("model '{}' failed to load: {}{}", model.name(), reason, serves);
    } else {
      log.error("model '{}' failed to load{}", model.name(), serves, cause);
    }
    return failed;
  }

  private static String describe(Throwable cause) {
    return cause.getMessage() == null ? cause.toString() : cause.getMessage();
  }

  /** A failure that a retry may fix, whatever the model. */
  private static boolean isStarved(Throwable cause) {
    return switch (cause) {
      case DeviceException device -> device.code() == DeviceException.Code.NO_THREAD;
      case OutOfMemoryError error ->
          error.getMessage() != null && error.getMessage().contains(NO_THREAD);
      default -> false;
    };
  }

  private static PublishedVersion afterFailure(ModelVersions versions, ModelStatus failed) {
    PublishedVersion current = versions.find(failed.version());
    return current == null || current.serving() == null
        ? PublishedVersion.of(failed)
        : new PublishedVersion(current.status().kept(failed.reason()), current.serving());
  }

  /** Lets go of versions that are not to serve any more, now that all that are to do. */
  private void retireOthers(RegisteredModel model, List<Candidate> candidates) {
    for (PublishedVersion each : model.versions().all()) {
      String version = each.status().version();
      if (candidates.stream().anyMatch(candidate -> candidate.version().equals(version))) {
        continue;
      }
      if (each.serving() != null) {
        var unused =
            withdraw(model, each, each.serving())
                .thenRun(() -> registry.publish(model, versions -> dropped(versions, version)));
      } else {
        registry.publish(model, versions -> dropped(versions, version));
      }
    }
  }

  private static ModelVersions dropped(ModelVersions versions, String version) {
    PublishedVersion current = versions.find(version);
    boolean over =
        current != null
            && switch (current.status().state()) {
              case FAILED, UNLOADED -> true;
              case LOADING, READY, UNLOADING -> false;
            };
    return over ? versions.without(version) : versions;
  }

  private CompletableFuture<Void> unloadNow(RegisteredModel model, Predicate<String> wanted) {
    List<CompletableFuture<Void>> freed = new ArrayList<>();
    for (PublishedVersion each : model.versions().all()) {
      if (!wanted.test(each.status().version())) {
        continue;
      }
      if (each.serving() != null) {
        freed.add(withdraw(model, each, each.serving()));
      } else if (each.status().state() == ModelState.FAILED) {
        PublishedVersion unloaded = PublishedVersion.of(each.status().unloaded());
        registry.publish(model, versions -> versions.with(unloaded));
      }
    }
    return CompletableFuture.allOf(freed.toArray(CompletableFuture<?>[]::new));
  }

  /** Stops a version from answering, and reports when it has been freed. */
  private CompletableFuture<Void> withdraw(
      RegisteredModel model, PublishedVersion version, Servable serving) {
    PublishedVersion unloading = PublishedVersion.of(version.status().unloading());
    PublishedVersion unloaded = PublishedVersion.of(version.status().unloaded());
    registry.publish(model, versions -> versions.with(unloading));
    starved.remove(model.name());
    return retire(model, serving)
        .thenRun(
            () ->
                registry.publish(
                    model,
                    versions ->
                        // It may be loading again by now.
                        versions.find(serving.version()) == unloading
                            ? versions.with(unloaded)
                            : versions));
  }

  /** Frees a model, which is not published any more, once all it has accepted has ended. */
  private CompletableFuture<Void> retire(RegisteredModel model, Servable retired) {
    ProgramModel programs = retired.inLane();
    CompletableFuture<Void> over =
        registry.called().unused(retired).thenCompose(unused -> lanes.retire(retired));
    if (programs != null && programs != retired) {
      over = over.thenCompose(idle -> lanes.retire(programs)); // it may be called until then
    }
    return over.thenRunAsync(
        () -> {
          free(model, retired);
          log.info("model '{}' version {} has been freed", retired.name(), retired.version());
        },
        unloader);
  }

  private void free(RegisteredModel model, Servable retired) {
    model.totals().keep(retired.counters());
    builder.free(retired);
  }

  /** Lets go of a version that must not serve any more, if it still does. */
  private void quarantine(ComposedModel served, String why) {
    RegisteredModel model = registry.register(served.name());
    var unused =
        model.next(
            () -> {
              quarantineNow(model, served, why);
              return CompletableFuture.completedFuture(null);
            });
  }

  private void quarantineNow(RegisteredModel model, ComposedModel served, String why) {
    PublishedVersion current = model.versions().find(served.version());
    if (current == null || current.serving() != served) {
      return; // replaced or unloaded meanwhile
    }
    ModelStatus status = current.status().quarantined(why);
    log.error(
        "model '{}' version {} serves no more, {}",
        served.name(),
        served.version(),
        status.reason());
    registry.publish(model, versions -> versions.with(PublishedVersion.of(status)));
    var unused = retire(model, served);
  }
}

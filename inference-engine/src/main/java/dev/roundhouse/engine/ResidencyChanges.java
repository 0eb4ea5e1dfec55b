package dev.roundhouse.engine;

import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.model.CallGraph;
import dev.roundhouse.engine.model.ModelRegistry;
import dev.roundhouse.engine.model.ProgramModel;
import dev.roundhouse.engine.model.PublishedVersion;
import dev.roundhouse.engine.model.RegisteredModel;
import dev.roundhouse.engine.model.Servable;
import dev.roundhouse.engine.residency.Residency;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sets at run time where weights wait. What calls others has none of its own: it stands for all
 * that it calls, which are pinned together or not at all, whatever its versions call. Thread-safe.
 */
final class ResidencyChanges {
  private static final Logger log = LoggerFactory.getLogger(ResidencyChanges.class);

  private final ModelRegistry registry;
  private final RequestPath requests;
  private final Residency weights;
  private final Executor unloader;
  private final CallGraph graph;

  ResidencyChanges(
      ModelRegistry registry, RequestPath requests, Residency weights, Executor unloader) {
    this.registry = registry;
    this.requests = requests;
    this.weights = weights;
    this.unloader = unloader;
    graph = registry.callGraph();
  }

  /** As {@link EngineAdmin#setResidency}. */
  CompletableFuture<Void> set(String name, ServingDefaults.Residency wanted) {
    RegisteredModel model = registry.get(name);
    Servable serving = model == null ? null : model.serving();
    if (model == null || serving == null) {
      return CompletableFuture.failedFuture(
          new IllegalStateException("no model '" + name + "' is ready"));
    }
    if (serving.inLane() != null) {
      return setOwn(model, wanted);
    }
    Collection<RegisteredModel> called = graph.withPrograms(serving.spec());
    if (called.isEmpty()) {
      return CompletableFuture.failedFuture(
          new IllegalStateException(
              "model '%s' has no weights, and calls no model that has".formatted(name)));
    }
    if (wanted == ServingDefaults.Residency.PINNED_DEVICE) {
      return pinAll(called).thenRun(() -> model.setResidency(Optional.of(wanted)));
    }
    model.setResidency(Optional.of(wanted)); // it holds what it calls no longer
    return all(
        called.stream().filter(each -> !isPinnedForCaller(each)).map(each -> setOwn(each, wanted)));
  }

  /**
   * Pins what a version needs that is to serve, when its name is pinned: before it serves.
   *
   * @return completes exceptionally, with nothing pinned for it, when not all of that fits
   */
  CompletableFuture<Void> cover(Servable caller) {
    if (!isPinned(caller)) {
      return CompletableFuture.completedFuture(null);
    }
    return pinAll(graph.withPrograms(caller.spec()))
        .exceptionally(
            failure -> {
              Throwable cause = failure instanceof CompletionException ? failure.getCause() : null;
              throw cause instanceof DeviceException
                  ? new BundleException(
                      caller.name(),
                      "it is pinned, and all that this version calls cannot be: "
                          + cause.getMessage())
                  : new CompletionException(cause == null ? failure : cause);
            });
  }

  /** Lets go of what no version needs any more but one that does not serve now. */
  void uncover(Servable retired) {
    if (isPinned(retired)) {
      for (RegisteredModel each : graph.withPrograms(retired.spec())) {
        if (!isPinnedNow(each)) {
          var unused =
              pin(programs(each), false)
                  .exceptionally(
                      failure -> {
                        log.warn("model '{}' stays pinned on the device; unpin it", each.name());
                        return null;
                      });
        }
      }
    }
  }

  /** Whether all that a version calls is pinned, as its name is or one that calls it. */
  private boolean isPinned(Servable caller) {
    RegisteredModel model = registry.get(caller.name());
    return caller.inLane() == null
        && model != null
        && (model.isPinned() || isPinnedForCaller(model));
  }

  private boolean isPinnedForCaller(RegisteredModel model) {
    return graph.isPinnedForCaller(model.name());
  }

  private CompletableFuture<Void> setOwn(
      RegisteredModel model, ServingDefaults.Residency residency) {
    List<ProgramModel> serving = programs(model);
    boolean pinned =
        residency == ServingDefaults.Residency.PINNED_DEVICE || isPinnedForCaller(model);
    return pin(serving, pinned)
        .thenRunAsync(
            () -> {
              model.setResidency(Optional.of(residency));
              // May free gigabytes: not on the dispatch thread.
              serving.forEach(each -> weights.keepAs(each.weights(), residency));
            },
            unloader);
  }

  private static List<ProgramModel> programs(RegisteredModel model) {
    return model.versions().all().stream()
        .map(PublishedVersion::programs)
        .filter(Objects::nonNull)
        .toList();
  }

  private CompletableFuture<Void> pin(List<ProgramModel> models, boolean pinned) {
    return all(models.stream().map(each -> requests.pin(each, pinned)));
  }

  private static CompletableFuture<Void> all(Stream<CompletableFuture<Void>> changes) {
    return CompletableFuture.allOf(changes.toArray(CompletableFuture<?>[]::new));
  }

  private CompletableFuture<Void> pinAll(Collection<RegisteredModel> called) {
    List<RegisteredModel> added = called.stream().filter(each -> !isPinnedNow(each)).toList();
    return all(added.stream().map(each -> pin(programs(each), true)))
        .exceptionallyCompose(failure -> undo(added, failure));
  }

  private boolean isPinnedNow(RegisteredModel model) {
    Servable serving = model.serving();
    return serving != null
        && requests
            .rules(serving)
            .residency()
            .filter(ServingDefaults.Residency.PINNED_DEVICE::equals)
            .isPresent();
  }

  private CompletableFuture<Void> undo(List<RegisteredModel> added, Throwable failure) {
    return all(added.stream().map(each -> pin(programs(each), false)))
        .handle(
            (done, other) -> {
              throw failure instanceof RuntimeException known
                  ? known
                  : new IllegalStateException(failure);
            });
  }
}

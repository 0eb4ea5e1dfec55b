package dev.roundhouse.engine;

import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.engine.model.ModelRegistry;
import dev.roundhouse.engine.model.ProgramModel;
import dev.roundhouse.engine.model.PublishedVersion;
import dev.roundhouse.engine.model.RegisteredModel;
import dev.roundhouse.engine.model.Servable;
import dev.roundhouse.engine.residency.Residency;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/**
 * Sets at run time where weights wait. What calls others has none of its own: it stands for all
 * that it calls, which are pinned together or not at all. Thread-safe.
 */
final class ResidencyChanges {
  private final ModelRegistry registry;
  private final RequestPath requests;
  private final Residency weights;
  private final Executor unloader;

  ResidencyChanges(
      ModelRegistry registry, RequestPath requests, Residency weights, Executor unloader) {
    this.registry = registry;
    this.requests = requests;
    this.weights = weights;
    this.unloader = unloader;
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
    Collection<RegisteredModel> called = called(serving);
    if (called.isEmpty()) {
      return CompletableFuture.failedFuture(
          new IllegalStateException(
              "model '%s' has no weights, and calls no model that has".formatted(name)));
    }
    return (isPinned(wanted) ? pinAll(called) : unpin(model, called, wanted))
        .thenRun(() -> model.setResidency(Optional.of(wanted)));
  }

  private static boolean isPinned(ServingDefaults.Residency residency) {
    return residency == ServingDefaults.Residency.PINNED_DEVICE;
  }

  private CompletableFuture<Void> setOwn(
      RegisteredModel model, ServingDefaults.Residency residency) {
    List<ProgramModel> serving = programs(model);
    return pin(serving, isPinned(residency))
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
    return CompletableFuture.allOf(
        models.stream()
            .map(each -> requests.pin(each, pinned))
            .toArray(CompletableFuture<?>[]::new));
  }

  /** Names with weights that a model calls, or that those call. */
  private Collection<RegisteredModel> called(Servable caller) {
    Map<String, RegisteredModel> called = new LinkedHashMap<>();
    for (String name : caller.spec().calls()) {
      RegisteredModel model = registry.get(name);
      Servable serving = model == null ? null : model.serving();
      if (model != null && serving != null) {
        if (serving.inLane() == null) {
          called(serving).forEach(each -> called.put(each.name(), each));
        } else {
          called.put(name, model);
        }
      }
    }
    return called.values();
  }

  private CompletableFuture<Void> pinAll(Collection<RegisteredModel> called) {
    Map<RegisteredModel, Optional<ServingDefaults.Residency>> before = new LinkedHashMap<>();
    List<CompletableFuture<Void>> pins = new ArrayList<>();
    for (RegisteredModel each : called) {
      if (!isPinnedNow(each)) {
        before.put(each, each.residency());
        pins.add(setOwn(each, ServingDefaults.Residency.PINNED_DEVICE));
      }
    }
    return CompletableFuture.allOf(pins.toArray(CompletableFuture<?>[]::new))
        .exceptionallyCompose(failure -> undo(before, failure));
  }

  private boolean isPinnedNow(RegisteredModel model) {
    Servable serving = model.serving();
    return serving != null
        && requests.rules(serving).residency().filter(ResidencyChanges::isPinned).isPresent();
  }

  private CompletableFuture<Void> undo(
      Map<RegisteredModel, Optional<ServingDefaults.Residency>> before, Throwable failure) {
    List<CompletableFuture<Void>> undone = new ArrayList<>();
    before.forEach(
        (model, residency) -> {
          model.setResidency(residency);
          undone.add(pin(programs(model), false));
        });
    return CompletableFuture.allOf(undone.toArray(CompletableFuture<?>[]::new))
        .handle(
            (done, other) -> {
              throw failure instanceof RuntimeException known
                  ? known
                  : new IllegalStateException(failure);
            });
  }

  /** What another that is pinned calls too stays. */
  private CompletableFuture<Void> unpin(
      RegisteredModel caller,
      Collection<RegisteredModel> called,
      ServingDefaults.Residency residency) {
    List<RegisteredModel> leaving = new ArrayList<>(called);
    for (RegisteredModel other : registry.models()) {
      Servable serving = other.serving();
      if (other != caller
          && serving != null
          && serving.inLane() == null
          && other.residency().filter(ResidencyChanges::isPinned).isPresent()) {
        leaving.removeAll(called(serving));
      }
    }
    return CompletableFuture.allOf(
        leaving.stream().map(each -> setOwn(each, residency)).toArray(CompletableFuture<?>[]::new));
  }
}

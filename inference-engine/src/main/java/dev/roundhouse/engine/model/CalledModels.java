package dev.roundhouse.engine.model;

import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.engine.queue.RefusedException;
import dev.roundhouse.engine.request.Status;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The versions that metas call. One that a run has begun with is retired when that run has ended,
 * so that no run meets two versions of a name. Thread-safe.
 */
public final class CalledModels {
  private final ModelRegistry registry;

  // Guarded by this.
  private final Map<Servable, Integer> runs = new IdentityHashMap<>();
  private final Map<Servable, CompletableFuture<Void>> leaving = new IdentityHashMap<>();

  CalledModels(ModelRegistry registry) {
    this.registry = registry;
  }

  /** What a run calls, until it is closed; to be closed once. */
  public record Held(Map<String, Servable> versions, Runnable release) implements AutoCloseable {
    public static final Held NONE = new Held(Map.of(), () -> {});

    @Override
    public void close() {
      release.run();
    }
  }

  /**
   * Finds what a meta calls, for one run.
   *
   * @throws RefusedException when some of it does not serve; says which, and why
   */
  public Held hold(ModelSpec meta) throws RefusedException {
    Map<String, Servable> versions = new LinkedHashMap<>();
    synchronized (this) {
      String missing = missing(meta);
      if (!missing.isEmpty()) {
        throw new RefusedException(
            Status.UNAVAILABLE, "model '%s' cannot answer: it %s".formatted(meta.name(), missing));
      }
      for (String name : meta.calls()) {
        RegisteredModel model = registry.get(name);
        Servable serving = model == null ? null : model.serving();
        if (serving == null || leaving.containsKey(serving)) {
          versions.values().forEach(this::release);
          throw new RefusedException(
              Status.UNAVAILABLE,
              "model '%s' calls '%s', which is just being replaced or unloaded; try again"
                  .formatted(meta.name(), name));
        }
        runs.merge(serving, 1, Integer::sum);
        versions.put(name, serving);
      }
    }
    return new Held(Map.copyOf(versions), () -> versions.values().forEach(this::release));
  }

  /** Programs whose weights a model needs that calls others: of those that serve now. */
  public List<ProgramModel> needs(ModelSpec caller) {
    return registry.callGraph().withPrograms(caller).stream()
        .map(RegisteredModel::programs)
        .filter(Objects::nonNull)
        .toList();
  }

  private void release(Servable version) {
    CompletableFuture<Void> free = null;
    synchronized (this) {
      if (runs.merge(version, -1, Integer::sum) == 0) {
        runs.remove(version);
        free = leaving.remove(version);
      }
    }
    if (free != null) {
      free.complete(null);
    }
  }

  /** Completes when no run calls a version that is not published any more. */
  synchronized CompletableFuture<Void> unused(Servable version) {
    return runs.containsKey(version)
        ? leaving.computeIfAbsent(version, held -> new CompletableFuture<>())
        : CompletableFuture.completedFuture(null);
  }

  /** Why a model that calls others cannot answer, as the end of a sentence; empty when it can. */
  String missing(ModelSpec meta) {
    for (String name : meta.calls()) {
      RegisteredModel called = registry.get(name);
      PublishedVersion head = called == null ? null : called.versions().find("");
      String why = head == null ? "which is not loaded" : why(meta, head);
      if (!why.isEmpty()) {
        return "calls '%s', %s".formatted(name, why);
      }
    }
    return "";
  }

  /** What of an ensemble's steps does not fit, all of which serve; as {@link #missing}. */
  private String misfit(ModelSpec ensemble) {
    Map<String, ModelSpec> called = new HashMap<>();
    for (String name : ensemble.calls()) {
      RegisteredModel model = registry.get(name);
      Servable serving = model == null ? null : model.serving();
      if (serving == null) {
        return "calls '" + name + "', which is being replaced";
      }
      called.put(name, serving.spec());
    }
    return EnsembleFit.misfit(ensemble, name -> Objects.requireNonNull(called.get(name)));
  }

  private static String why(ModelSpec caller, PublishedVersion head) {
    Servable serving = head.serving();
    ModelSpec.Kind kind = serving == null ? ModelSpec.Kind.MODEL : serving.spec().kind();
    if (kind == ModelSpec.Kind.ENSEMBLE) {
      return "which is an ensemble itself; call the models of its steps";
    }
    if (kind == ModelSpec.Kind.META && caller.kind() == ModelSpec.Kind.META) {
      return "which is a meta itself; name the models that that one calls";
    }
    if (serving != null && serving.spec().decoupled()) {
      return "which is decoupled: it answers in parts, and who calls it takes one answer";
    }
    return serving != null && (kind == ModelSpec.Kind.MODEL || head.status().isReady())
        ? ""
        : switch (head.status().state()) {
          case LOADING, READY -> "which is loading";
          case FAILED -> "which failed to load: " + head.status().reason();
          case UNLOADING, UNLOADED -> "which was unloaded";
        };
  }

  /**
   * The status of a version that is built, now: ready, or why not.
   *
   * @param before as it was
   */
  ModelStatus status(ModelStatus before, Servable built) {
    ModelSpec spec = built.spec();
    String missing = missing(spec);
    boolean isUnfit = false;
    if (missing.isEmpty() && spec.kind() == ModelSpec.Kind.ENSEMBLE) {
      missing = misfit(spec);
      isUnfit = !missing.isEmpty();
    }
    ModelStatus ready = before.ready(spec, before.maxBatchSize(), before.loadNanos());
    if (missing.isEmpty()) {
      return before.isReady() ? before : ready;
    }
    return !isUnfit && awaits(spec)
        ? ready.awaiting(missing)
        : ready.failed(
            "it " + missing + "; it serves as soon as that can be called",
            before.loadNanos(),
            false);
  }

  /** True when something that a model calls is loading, and nothing else is missing for good. */
  boolean awaits(ModelSpec meta) {
    Map<String, @Nullable PublishedVersion> heads = new HashMap<>();
    for (String name : meta.calls()) {
      RegisteredModel called = registry.get(name);
      heads.put(name, called == null ? null : called.versions().find(""));
    }
    return heads.values().stream()
        .allMatch(
            head ->
                head != null
                    && (head.status().state() == ModelState.LOADING || why(meta, head).isEmpty()));
  }
}

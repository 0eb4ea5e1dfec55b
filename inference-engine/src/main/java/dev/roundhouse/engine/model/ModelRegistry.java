package dev.roundhouse.engine.model;

import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Maps a model's name to its versions. Any thread may look up; a lookup takes no lock. Publishing
 * is for the loader.
 */
public final class ModelRegistry {
  private final Map<String, RegisteredModel> byName = new ConcurrentHashMap<>();
  private final ModelSlots slots = new ModelSlots();
  private final CallGraph callGraph = new CallGraph(this);
  private final CalledModels called = new CalledModels(this);

  /** Names with a version that calls others. */
  private final Set<RegisteredModel> calling = ConcurrentHashMap.newKeySet();

  private final AtomicInteger loading = new AtomicInteger();
  private final AtomicInteger failed = new AtomicInteger();

  public Optional<RegisteredModel> find(String name) {
    return Optional.ofNullable(byName.get(name)).filter(model -> !model.versions().isEmpty());
  }

  /** As {@link #find}, for the request path: null when there is none. */
  public @Nullable RegisteredModel get(String name) {
    return byName.get(name);
  }

  /** For each name the version that answers, or that says best why none does; by name. */
  public List<ModelStatus> statuses() {
    return byName.values().stream()
        .flatMap(model -> model.versions().head().stream())
        .map(PublishedVersion::status)
        .sorted(Comparator.comparing(ModelStatus::name))
        .toList();
  }

  /** Every version of every name, by name, then ascending. */
  public List<ModelStatus> index() {
    return byName.values().stream()
        .sorted(Comparator.comparing(RegisteredModel::name))
        .flatMap(model -> model.versions().all().stream())
        .map(PublishedVersion::status)
        .toList();
  }

  /** Names that answer although newer files of them could not be loaded, and why. */
  public SortedMap<String, String> stale() {
    SortedMap<String, String> stale = new TreeMap<>();
    byName
        .values()
        .forEach(model -> model.versions().stale().ifPresent(why -> stale.put(model.name(), why)));
    return stale;
  }

  public Collection<RegisteredModel> models() {
    return byName.values().stream().filter(model -> !model.versions().isEmpty()).toList();
  }

  /** Which served model has which slot. */
  public ModelSlots slots() {
    return slots;
  }

  /** Names of which nothing answers yet. */
  public int loading() {
    return loading.get();
  }

  /** Names of which a version failed to load. */
  public int failed() {
    return failed.get();
  }

  /** The name's entry, made when there is none. */
  RegisteredModel register(String name) {
    return byName.computeIfAbsent(name, RegisteredModel::new);
  }

  /** Changes what is published of a name, at once and in one step. */
  void publish(RegisteredModel model, UnaryOperator<ModelVersions> change) {
    synchronized (model) {
      ModelVersions before = model.versions();
      ModelVersions after = change.apply(before);
      publishNow(model, after);
      if (after.all().stream().anyMatch(each -> callsOthers(each.serving()))) {
        calling.add(model);
      } else {
        calling.remove(model);
      }
    }
    Queue<RegisteredModel> changed = new ArrayDeque<>(List.of(model));
    for (RegisteredModel next = changed.poll(); next != null; next = changed.poll()) {
      for (RegisteredModel each : calling) {
        if (lookAgain(each, next)) {
          changed.add(each); // an ensemble may call it
        }
      }
    }
  }

  private static boolean callsOthers(@Nullable Servable serving) {
    return serving != null && !serving.spec().calls().isEmpty();
  }

  /**
   * What a model calls has changed: so may whether it can answer. It is looked at once it is
   * published itself, too: what it calls may have changed just before.
   *
   * @return whether what is published of it has changed
   */
  private boolean lookAgain(RegisteredModel model, RegisteredModel changed) {
    synchronized (model) {
      ModelVersions versions = model.versions();
      for (PublishedVersion each : versions.all()) {
        Servable serving = each.serving();
        if (serving != null
            && callsOthers(serving)
            && (model == changed || serving.spec().calls().contains(changed.name()))) {
          ModelStatus status = called.status(each.status(), serving);
          if (!status.equals(each.status())) {
            versions = versions.with(new PublishedVersion(status, serving));
          }
        }
      }
      boolean changes = versions != model.versions();
      if (changes) {
        publishNow(model, versions);
      }
      return changes;
    }
  }

  private void publishNow(RegisteredModel model, ModelVersions after) {
    ModelVersions before = model.versions();
    count(loading, before.isLoading(), after.isLoading());
    count(failed, before.hasFailed(), after.hasFailed());
    model.publish(after);
  }

  /** Names with a version that calls others. */
  Collection<RegisteredModel> calling() {
    return calling;
  }

  /** Who leads to which programs. */
  public CallGraph callGraph() {
    return callGraph;
  }

  /** What models call that call others. */
  public CalledModels called() {
    return called;
  }

  private static void count(AtomicInteger figure, boolean before, boolean after) {
    if (before != after) {
      figure.addAndGet(after ? 1 : -1);
    }
  }
}

package dev.roundhouse.worker.lifecycle;

import dev.roundhouse.bundle.VersionPolicy;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.worker.config.ModelProperties;
import dev.roundhouse.worker.config.RepositoryProperties;
import dev.roundhouse.worker.config.RepositoryProperties.Mode;
import dev.roundhouse.worker.config.WorkerProperties;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The models on disk and what the engine loads of them: which models, which versions, and in mode
 * explicit what callers ask for. Thread-safe; methods that look at files block on the disk.
 */
public final class ModelRepository {
  private final Engine engine;
  private final WorkerProperties properties;
  private final Consumer<ModelStatus> onChange;
  private final Predicate<String> loadsLast;
  private final Map<String, String> notes = new ConcurrentHashMap<>();

  /**
   * @param onChange told when a load has ended, well or not, and when a model has been freed; on a
   *     thread of the engine
   */
  public ModelRepository(
      Engine engine, WorkerProperties properties, Consumer<ModelStatus> onChange) {
    this(engine, properties, onChange, name -> false);
  }

  /**
   * @param loadsLast names that are loaded at the start when the others have begun to
   */
  ModelRepository(
      Engine engine,
      WorkerProperties properties,
      Consumer<ModelStatus> onChange,
      Predicate<String> loadsLast) {
    this.loadsLast = loadsLast;
    this.engine = engine;
    this.properties = properties;
    this.onChange = onChange;
  }

  public Mode mode() {
    return properties.repository().mode();
  }

  /**
   * Begins the loads at start-up.
   *
   * @param scan what there is
   * @return by name; each completes when it is ready or has failed
   */
  Map<String, CompletableFuture<ModelStatus>> loadAtStart(RepositoryScan scan) {
    Map<String, CompletableFuture<ModelStatus>> loads = new LinkedHashMap<>();
    if (mode() != Mode.EXPLICIT || settings().load().contains("*")) {
      scan.models().entrySet().stream()
          .sorted(
              Comparator.comparing(
                      (Map.Entry<String, RepositoryScan.Found> each) ->
                          CallsOthers.isOne(each.getValue().folder()))
                  .thenComparing(each -> loadsLast.test(each.getKey())))
          .forEach(each -> loads.put(each.getKey(), load(each.getValue().folder())));
    } else {
      for (String name : new LinkedHashSet<>(settings().load())) {
        // One that is not there fails by name.
        Path folder = folder(name).orElse(settings().directories().getFirst().resolve(name));
        loads.put(name, loadWithCalled(folder));
      }
    }
    return loads;
  }

  /** A model's folder in the first directory that has one. */
  public Optional<Path> folder(String name) {
    return settings().directories().stream()
        .map(directory -> directory.resolve(name))
        .filter(Files::isDirectory)
        .findFirst();
  }

  /** Loads a model, again if it serves already; completes with ready or failed. */
  public CompletableFuture<ModelStatus> load(Path folder) {
    return engine.admin().load(folder, versionPolicy(name(folder))).whenComplete(this::changed);
  }

  /**
   * As {@link #load}, and then what it calls that was never loaded, or was unloaded, and that there
   * is a folder of.
   */
  public CompletableFuture<ModelStatus> loadWithCalled(Path folder) {
    return load(folder)
        .thenCompose(
            status -> {
              List<Path> called =
                  calls(name(folder)).filter(this::isUnloaded).flatMap(this::folders).toList();
              return called.isEmpty()
                  ? CompletableFuture.completedFuture(status)
                  : CompletableFuture.allOf(
                          called.stream()
                              .map(this::loadWithCalled)
                              .toArray(CompletableFuture<?>[]::new))
                      .thenApply(done -> engine.model(name(folder)).orElse(status));
            });
  }

  private Stream<String> calls(String name) {
    return engine.model(name).stream().flatMap(ModelRepository::calls);
  }

  private static Stream<String> calls(ModelStatus model) {
    return model.spec().stream().flatMap(spec -> spec.calls().stream());
  }

  private boolean isUnloaded(String name) {
    return engine.model(name).filter(each -> each.state() != ModelState.UNLOADED).isEmpty();
  }

  private Stream<Path> folders(String name) {
    return folder(name).stream();
  }

  /** Loads of a model what has changed; completes with ready or failed. */
  CompletableFuture<ModelStatus> refresh(Path folder) {
    return engine.admin().refresh(folder, versionPolicy(name(folder))).whenComplete(this::changed);
  }

  /** Takes a model out of service; completes when it has been freed. */
  public CompletableFuture<Void> unload(String name) {
    return engine
        .admin()
        .unload(name)
        .whenComplete((freed, failure) -> engine.model(name).ifPresent(onChange));
  }

  /** As {@link #unload}, and then what it calls, unless another that is loaded calls that too. */
  public CompletableFuture<Void> unloadWithCalled(String name) {
    List<String> called = calls(name).toList();
    return unload(name)
        .thenCompose(
            freed ->
                CompletableFuture.allOf(
                    called.stream()
                        .filter(each -> !isUnloaded(each) && !isCalled(each))
                        .map(this::unloadWithCalled)
                        .toArray(CompletableFuture<?>[]::new)));
  }

  /** Who calls a model, by its name, of those that are loaded. */
  public Map<String, SortedSet<String>> callers() {
    Map<String, SortedSet<String>> callers = new HashMap<>();
    for (ModelStatus caller : engine.reports().models()) {
      if (caller.state() != ModelState.UNLOADED) {
        calls(caller)
            .forEach(
                called ->
                    callers.computeIfAbsent(called, name -> new TreeSet<>()).add(caller.name()));
      }
    }
    return callers;
  }

  /** A model's state in a word or two, with its version. */
  public String stateOf(String name) {
    return engine
        .model(name)
        .map(
            status ->
                status.version().isEmpty()
                    ? status.state().toString()
                    : status.state() + " (version " + status.version() + ")")
        .orElse("not loaded");
  }

  /** Whether there is such a model, loaded or not. */
  public boolean has(String name) {
    return engine.model(name).isPresent()
        || RepositoryScan.names(settings().directories()).contains(name);
  }

  private boolean isCalled(String name) {
    return engine.reports().models().stream().anyMatch(each -> calls(each).anyMatch(name::equals));
  }

  /** Adds to what the index says of a model that failed; empty for nothing. */
  void note(String name, String note) {
    if (note.isEmpty()) {
      notes.remove(name);
    } else {
      notes.put(name, note);
    }
  }

  /**
   * Every version that the engine knows, and every model on disk that it does not; unless the
   * settings say otherwise, without those that answer and that a meta calls.
   */
  public List<Entry> index() {
    List<Entry> all = all();
    Set<String> called = settings().listCalled() ? Set.of() : calledByMetas(all);
    return called.isEmpty()
        ? all
        : all.stream().filter(entry -> !called.contains(entry.name()) || !entry.answers()).toList();
  }

  private static Set<String> calledByMetas(List<Entry> all) {
    return all.stream()
        .flatMap(each -> each.version().stream())
        .flatMap(version -> version.spec().stream())
        .filter(spec -> spec.kind() == ModelSpec.Kind.META)
        .flatMap(spec -> spec.calls().stream())
        .collect(Collectors.toSet());
  }

  /** As {@link #index}, and none left out. */
  public List<Entry> all() {
    List<Entry> entries = new ArrayList<>();
    Map<String, List<ModelStatus>> known = new HashMap<>();
    for (ModelStatus status : engine.reports().index()) {
      known.computeIfAbsent(status.name(), name -> new ArrayList<>()).add(status);
    }
    Set<String> names = new HashSet<>(known.keySet());
    if (mode() == Mode.EXPLICIT) {
      names.addAll(RepositoryScan.names(settings().directories()));
    }
    names.stream()
        .sorted()
        .forEach(
            name -> {
              List<ModelStatus> versions = known.getOrDefault(name, List.of());
              if (versions.isEmpty()) {
                entries.add(new Entry(name, Optional.empty(), "", false));
              }
              versions.forEach(each -> entries.add(entry(each)));
            });
    return entries;
  }

  private Entry entry(ModelStatus version) {
    boolean away = version.isReady() && engine.awaitsOperator(version.name(), version.version());
    return new Entry(version.name(), Optional.of(version), note(version), away);
  }

  private String note(ModelStatus version) {
    return version.reason().isEmpty() ? "" : notes.getOrDefault(version.name(), "");
  }

  private void changed(@Nullable ModelStatus status, @Nullable Throwable failure) {
    if (status != null) {
      onChange.accept(status);
    }
  }

  /** Which versions of a model are to serve. */
  public VersionPolicy versionPolicy(String name) {
    ModelProperties model = properties.models().get(name);
    String own = model == null ? null : model.versionPolicy();
    return VersionPolicy.parse(own == null ? settings().versionPolicy() : own);
  }

  private RepositoryProperties settings() {
    return properties.repository();
  }

  private static String name(Path folder) {
    return folder.getFileName().toString();
  }

  /**
   * One line of the index.
   *
   * @param version absent for a model that was never loaded
   * @param note what the worker adds to the reason
   * @param awaitsOperator true of one that is loaded and refuses requests until the operator has it
   *     brought to the device
   */
  public record Entry(
      String name, Optional<ModelStatus> version, String note, boolean awaitsOperator) {

    /** Whether requests for it would be accepted. */
    public boolean answers() {
      return !awaitsOperator && version.filter(ModelStatus::isReady).isPresent();
    }
  }
}

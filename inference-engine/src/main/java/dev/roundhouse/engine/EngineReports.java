package dev.roundhouse.engine;

import dev.roundhouse.engine.floor.FloorTotals;
import dev.roundhouse.engine.floor.HostWeightStore;
import dev.roundhouse.engine.model.CompiledProgram;
import dev.roundhouse.engine.model.ModelRegistry;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.model.ProgramModel;
import dev.roundhouse.engine.model.PublishedVersion;
import dev.roundhouse.engine.model.RegisteredModel;
import dev.roundhouse.engine.model.Servable;
import dev.roundhouse.engine.observe.InferenceReading;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.observe.ModelCounters;
import dev.roundhouse.engine.observe.ModelTotals;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SortedMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** What there is to say of an engine: models, weights, the dispatch thread. Thread-safe. */
public final class EngineReports {
  private final EngineOptions options;
  private final ModelRegistry registry;
  private final RequestPath requests;
  private final HostWeightStore floors;

  /** What makes a moment on the engine's clock one of the calendar. */
  private final long nanosSince1970;

  EngineReports(
      EngineOptions options, ModelRegistry registry, RequestPath requests, HostWeightStore floors) {
    this.options = options;
    this.registry = registry;
    this.requests = requests;
    this.floors = floors;
    nanosSince1970 =
        TimeUnit.MILLISECONDS.toNanos(System.currentTimeMillis()) - options.clock().nanoTime();
  }

  /** Every version of every model, those that failed or were unloaded included. */
  public List<ModelStatus> index() {
    return registry.index();
  }

  /**
   * What has been counted for the versions that are ready, by name, then ascending.
   *
   * @param name empty for every model
   * @param version empty for every version
   */
  public List<VersionStatistics> statistics(String name, String version) {
    Collection<RegisteredModel> models =
        name.isEmpty() ? registry.models() : registry.find(name).stream().toList();
    return models.stream()
        .sorted(Comparator.comparing(RegisteredModel::name))
        .flatMap(model -> model.versions().all().stream())
        .map(PublishedVersion::serving)
        .filter(Objects::nonNull)
        .filter(serving -> version.isEmpty() || serving.version().equals(version))
        .map(this::statistics)
        .toList();
  }

  private VersionStatistics statistics(Servable model) {
    ModelCounters counters = model.counters();
    long failed = counters.unanswered(); // before the time, which is added first
    InferenceReading answered = counters.answered();
    long lastRun = answered.lastRunNanos();
    return new VersionStatistics(
        model.name(),
        model.version(),
        answered,
        failed,
        counters.unansweredNanos(),
        lastRun == InferenceReading.NEVER
            ? 0
            : TimeUnit.NANOSECONDS.toMillis(lastRun + nanosSince1970),
        model.residentBytes());
  }

  /** The versions of a model, ascending; empty when there is no such model. */
  public List<ModelStatus> versions(String name) {
    return registry.find(name).stream()
        .flatMap(model -> model.versions().all().stream())
        .map(PublishedVersion::status)
        .toList();
  }

  /** Every model, by name; of its versions the one that answers, or says best why none does. */
  public List<ModelStatus> models() {
    return registry.statuses();
  }

  /** Models that serve although newer files of them could not be loaded, and why; by name. */
  public SortedMap<String, String> stale() {
    return registry.stale();
  }

  /** What there is to say of every model, by name; see {@link #details(String)}. */
  public List<ModelReport> details() {
    return registry.models().stream()
        .flatMap(model -> report(model).stream())
        .sorted(Comparator.comparing(report -> report.status().name()))
        .toList();
  }

  /**
   * What there is to say of one model: state, weights and programs of the version that answers,
   * counts of all together.
   */
  public Optional<ModelReport> details(String name) {
    return registry.find(name).flatMap(this::report);
  }

  private Optional<ModelReport> report(RegisteredModel model) {
    return Optional.ofNullable(model.versions().find("")).map(head -> report(model.totals(), head));
  }

  private ModelReport report(ModelTotals totals, PublishedVersion head) {
    Map<Metric, Long> counts = new EnumMap<>(Metric.class);
    for (Metric metric : Metric.values()) {
      counts.put(metric, totals.get(metric));
    }
    long front = totals.frontArrivalNanos();
    long now = options.clock().nanoTime();
    ProgramModel serving = head.programs();
    return new ModelReport(
        head.status(),
        totals.waiting(),
        front == ModelCounters.NONE_WAITS ? 0 : Math.max(0, now - front),
        counts,
        Optional.ofNullable(serving).map(model -> model.weights().onHost()),
        serving == null
            ? List.of()
            : serving.programs().stream().map(EngineReports::program).toList());
  }

  private static ModelReport.ProgramReport program(CompiledProgram program) {
    return new ModelReport.ProgramReport(
        program.variant(),
        program.batchSize(),
        program.cost().meanNanos(),
        program.cost().highNanos(),
        program.tally().runs(),
        program.tally().rows());
  }

  /**
   * Asks the dispatch thread where everything stands; it answers between two batches, in time in
   * proportion to the number of models.
   *
   * @return cancelled when the engine stops first
   */
  public CompletableFuture<SchedulerReport> scheduler() {
    return requests
        .dispatch()
        .describe()
        .thenApply(
            state ->
                new SchedulerReport(
                    state,
                    requests.heldBytes(),
                    options.maxQueuedBytes(),
                    options.maxQueueDepth()));
  }

  /** What has been counted for a model since the engine was opened, whichever version it was. */
  public Optional<ModelTotals> counters(String name) {
    return registry.find(name).map(RegisteredModel::totals);
  }

  /** How many sequences are under way, of all models that keep state between requests. */
  public int sequences() {
    return requests.sequences();
  }

  /** What weights take in host memory. */
  public FloorTotals floors() {
    return floors.totals();
  }

  /** Bytes of weights on the device. */
  public long residentWeightBytes() {
    return requests.dispatch().residentWeightBytes();
  }

  /** Models of which a version failed to load and is not loaded since. */
  public int failedModels() {
    return registry.failed();
  }

  /** Longest time between two choices of the dispatch thread while there was work. */
  public long longestDispatchCycleNanos() {
    return requests.dispatch().longestCycleNanos();
  }
}

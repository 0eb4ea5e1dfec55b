package dev.roundhouse.engine;

import dev.roundhouse.engine.dispatch.DeviceUse;
import dev.roundhouse.engine.dispatch.DispatchState.Scope;
import dev.roundhouse.engine.hostweights.HostWeightStore;
import dev.roundhouse.engine.hostweights.HostWeightsTotals;
import dev.roundhouse.engine.model.CompiledProgram;
import dev.roundhouse.engine.model.ComposedModel;
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
import dev.roundhouse.engine.observe.Waiting;
import dev.roundhouse.engine.sequence.SequenceMemory;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Reports on an engine: models, weights, the dispatch thread. Thread-safe. */
public final class EngineReports {
  private final EngineOptions options;
  private final ModelRegistry registry;
  private final RequestPath requests;
  private final HostWeightStore hostWeights;

  /** Offset from the engine's clock to nanoseconds since 1970. */
  private final long nanosSince1970;

  EngineReports(
      EngineOptions options,
      ModelRegistry registry,
      RequestPath requests,
      HostWeightStore hostWeights) {
    this.options = options;
    this.registry = registry;
    this.requests = requests;
    this.hostWeights = hostWeights;
    nanosSince1970 =
        TimeUnit.MILLISECONDS.toNanos(System.currentTimeMillis()) - options.clock().nanoTime();
  }

  /** Every version of every model, including failed and unloaded ones. */
  public List<ModelStatus> index() {
    return registry.index();
  }

  /**
   * Counts of the ready versions, by name, then version.
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
        .filter(each -> version.isEmpty() || each.status().version().equals(version))
        .flatMap(this::statistics)
        .toList();
  }

  private Stream<VersionStatistics> statistics(PublishedVersion published) {
    Servable serving = published.serving();
    return serving == null
        ? Stream.empty()
        : Stream.of(statistics(serving, published.status().loadNanos()));
  }

  private VersionStatistics statistics(Servable model, long loadNanos) {
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
        model.residentBytes(),
        loadNanos,
        counters);
  }

  /** The versions of a model, ascending; empty when there is no such model. */
  public List<ModelStatus> versions(String name) {
    return registry.find(name).stream()
        .flatMap(model -> model.versions().all().stream())
        .map(PublishedVersion::status)
        .toList();
  }

  /**
   * One status per model, by name: of the version that answers, or of the one that best explains
   * why none does.
   */
  public List<ModelStatus> models() {
    return registry.statuses();
  }

  /** Models that serve although newer files of theirs failed to load, and why; by name. */
  public SortedMap<String, String> stale() {
    return registry.stale();
  }

  /** What has been counted of every name, in no order. */
  public List<CountedModel> counted() {
    List<CountedModel> counted = new ArrayList<>();
    for (RegisteredModel model : registry.models()) {
      PublishedVersion head = model.versions().find("");
      if (head != null) {
        Servable serving = head.serving();
        counted.add(
            new CountedModel(
                head.status(),
                model.totals(),
                serving == null ? 0 : serving.residentBytes(),
                place(head.programs()),
                waitsFor(head)));
      }
    }
    return counted;
  }

  private static CountedModel.Place place(@Nullable ProgramModel programs) {
    if (programs == null) {
      return CountedModel.Place.NONE;
    }
    if (programs.weights().isResident()) {
      return CountedModel.Place.DEVICE;
    }
    return programs.weights().onHost().inMemory()
        ? CountedModel.Place.HOST
        : CountedModel.Place.FILE;
  }

  /** A report on every model, by name; see {@link #details(String)}. */
  public List<ModelReport> details() {
    return registry.models().stream()
        .flatMap(model -> report(model).stream())
        .sorted(Comparator.comparing(report -> report.status().name()))
        .toList();
  }

  /**
   * A report on one model: state, weights and programs of the version that answers, counts over all
   * versions.
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
        waitsFor(head),
        Optional.ofNullable(serving).map(model -> model.weights().onHost()),
        serving == null
            ? List.of()
            : serving.programs().stream().map(EngineReports::program).toList());
  }

  private static @Nullable Waiting waitsFor(PublishedVersion head) {
    ModelStatus status = head.status();
    if (status.isReady()) {
      return head.serving() instanceof ComposedModel composed ? composed.waiting() : null;
    }
    return new Waiting.NotReady(status.state().name(), status.reason());
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
   * Asks the dispatch thread for its state; it answers between batches, in time linear in the
   * number of models.
   *
   * @return cancelled when the engine stops first
   */
  public CompletableFuture<SchedulerReport> scheduler() {
    return scheduler(Scope.WITHOUT_REASONS);
  }

  /** As {@link #scheduler}, and why what waits does not run: for people who ask. */
  public CompletableFuture<SchedulerReport> schedulerWithReasons() {
    return scheduler(Scope.ALL);
  }

  /**
   * As {@link #schedulerWithReasons}, of those models only of which there is news, and of some
   * others in turn; for one who asks again and again, and there is only one such.
   *
   * @param first whether to tell of all models, as to one who has kept nothing
   */
  public CompletableFuture<SchedulerReport> schedulerNews(boolean first) {
    return scheduler(first ? Scope.FIRST : Scope.NEWS);
  }

  private CompletableFuture<SchedulerReport> scheduler(Scope scope) {
    return requests
        .dispatch()
        .describe(scope)
        .thenApply(
            state ->
                new SchedulerReport(
                    state,
                    requests.heldBytes(),
                    options.maxQueuedBytes(),
                    options.maxQueueDepth()));
  }

  /** Counts for a model since the engine was opened, over all versions. */
  public Optional<ModelTotals> counters(String name) {
    return registry.find(name).map(RegisteredModel::totals);
  }

  /** Open sequences of all stateful models. */
  public int sequences() {
    return requests.sequences();
  }

  /** Bytes of memory for requests that sequences hold, and how many they may. */
  public SequenceMemory sequenceMemory() {
    return requests.sequenceMemory();
  }

  /** Host memory that weights take. */
  public HostWeightsTotals hostWeights() {
    return hostWeights.totals();
  }

  /** Bytes of weights on the device. */
  public long residentWeightBytes() {
    return requests.dispatch().residentWeightBytes();
  }

  /** Models with a version that failed to load and has not been loaded since. */
  public int failedModels() {
    return registry.failed();
  }

  /** Longest time between two scheduling decisions while there was work. */
  public long longestDispatchCycleNanos() {
    return requests.dispatch().longestCycleNanos();
  }

  /** As {@link #longestDispatchCycleNanos}, of the last half minute to minute. */
  public long recentDispatchCycleNanos() {
    return requests.dispatch().recentCycleNanos();
  }

  /** Nanoseconds since the start that the device ran, and was idle, by reason. */
  public Map<DeviceUse, Long> deviceTime() {
    return requests.dispatch().deviceTime();
  }

  /** Nanoseconds since the start that weights were on their way to the device. */
  public long linkNanos() {
    return requests.dispatch().linkNanos();
  }
}

package dev.roundhouse.engine;

import dev.roundhouse.bundle.VersionPolicy;
import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceDescription;
import dev.roundhouse.engine.dispatch.Compacted;
import dev.roundhouse.engine.floor.FloorStore;
import dev.roundhouse.engine.floor.FloorTotals;
import dev.roundhouse.engine.model.CompiledProgram;
import dev.roundhouse.engine.model.CostStore;
import dev.roundhouse.engine.model.LoadListener;
import dev.roundhouse.engine.model.ModelImage;
import dev.roundhouse.engine.model.ModelLoader;
import dev.roundhouse.engine.model.ModelRegistry;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.model.PublishedVersion;
import dev.roundhouse.engine.model.RegisteredModel;
import dev.roundhouse.engine.model.ServedModel;
import dev.roundhouse.engine.model.ServingLanes;
import dev.roundhouse.engine.observe.InferenceReading;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.observe.ModelCounters;
import dev.roundhouse.engine.observe.ModelTotals;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.residency.Residency;
import java.nio.file.Path;
import java.time.Duration;
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
import java.util.function.LongSupplier;

/**
 * Serves models from one device: load them, submit requests, watch, drain, close. Thread-safe.
 *
 * <p>Owns the threads {@code dispatch}, {@code outputs}, {@code weights}, {@code watchdog}, {@code
 * unload} and {@code compile-n}; borrows the device, which must outlive it.
 */
public final class Engine implements AutoCloseable {
  private static final Duration FOREVER = Duration.ofDays(365);

  private final EngineOptions options;
  private final ModelRegistry registry = new ModelRegistry();
  private final RequestPath requests;
  private final ModelLoader loader;
  private final FloorStore floors;
  private final Residency residency;
  private final CostStore costs;
  private final EngineThreads threads;

  /** What makes a moment on the engine's clock one of the calendar. */
  private final long nanosSince1970;

  private volatile boolean draining;

  Engine(EngineOptions options, Device device, EngineThreads threads) {
    this.options = options;
    this.threads = threads;
    nanosSince1970 =
        TimeUnit.MILLISECONDS.toNanos(System.currentTimeMillis()) - options.clock().nanoTime();
    floors = new FloorStore(options.floors(), device);
    residency =
        new Residency(
            device,
            floors,
            options.residency(),
            model ->
                options.of(model.name()).residency(registry.get(model.name()), model.serving()));
    requests = new RequestPath(options, device, residency, registry, threads);
    costs = CostStore.open(options.costFile(), costKey(device.description()));
    loader =
        new ModelLoader(
            registry,
            device,
            residency,
            options.clock(),
            options.costAlpha(),
            costs,
            options.links(),
            untilFailed(options.loads()),
            threads.compilers(),
            threads.unloader(),
            lanes());
    // First of all, so that nothing says "ready" while the open requests are being ended.
    requests.failStop().requested().thenAccept(requests::failAdmission);
    requests.dispatch().markRuns(options.runMark());
    threads.start(requests.dispatch());
  }

  /**
   * What was being loaded when the engine failed has not ended: the process dies over it. What
   * comes after is not begun.
   */
  private LoadListener untilFailed(LoadListener loads) {
    return new LoadListener() {
      @Override
      public void onBegin(String model, String version, String fingerprint) {
        if (requests.failStop().cause() != null) {
          throw new IllegalStateException("the server has failed and is stopping");
        }
        loads.onBegin(model, version, fingerprint);
      }

      @Override
      public void onBuilt(String model, String version, int slot) {
        loads.onBuilt(model, version, slot);
      }

      @Override
      public void onEnd(String model, String version, boolean ready) {
        if (requests.failStop().cause() == null) {
          loads.onEnd(model, version, ready);
        }
      }
    };
  }

  private ServingLanes lanes() {
    return new ServingLanes() {
      @Override
      public CompletableFuture<Void> open(ServedModel model) {
        return threads.awaiting(requests.activate(model));
      }

      @Override
      public CompletableFuture<Void> retire(ServedModel model) {
        return requests.retire(model);
      }
    };
  }

  /** Starts an engine on a device. The device is borrowed until {@link #close}. */
  public static Engine open(EngineOptions options, Device device) {
    return new Engine(options, device, new OwnThreads(options));
  }

  /**
   * Starts to load the newest version in a model's folder; see {@link #load(Path, VersionPolicy)}.
   */
  public CompletableFuture<ModelStatus> load(Path modelFolder) {
    return load(modelFolder, VersionPolicy.LATEST);
  }

  /**
   * Starts to load what a policy selects of the versions in a model's folder, again if it serves
   * already. What serves under that name goes on until the new is ready, and stays if the new fails
   * or any other version that is selected. A name that was not known is, as loading, when this
   * returns.
   *
   * @return completes with the newest version, ready, or with one that failed and why; never
   *     exceptionally
   */
  public CompletableFuture<ModelStatus> load(Path modelFolder, VersionPolicy policy) {
    return loader.load(modelFolder, policy, false);
  }

  /** As {@link #load(Path, VersionPolicy)}, but versions whose files are what serves stay. */
  public CompletableFuture<ModelStatus> refresh(Path modelFolder, VersionPolicy policy) {
    return loader.load(modelFolder, policy, true);
  }

  /**
   * Starts to load a model that has been read already, replacing what serves as that version.
   *
   * @param image its weights are borrowed until the load has ended
   * @return completes with ready or failed; never exceptionally
   */
  public CompletableFuture<ModelStatus> load(ModelImage image) {
    return loader.load(image);
  }

  /**
   * Has a name answer no more. Requests that were accepted run; then programs and weights are
   * freed.
   *
   * @return completes when that is done, at once when there is nothing to free; exceptionally when
   *     the engine is closed first
   */
  public CompletableFuture<Void> unload(String name) {
    return loader.unload(name, "");
  }

  /** As {@link #unload(String)}, for one version of a name. */
  public CompletableFuture<Void> unload(String name, String version) {
    return loader.unload(name, version);
  }

  /** Every version of every model, those that failed or were unloaded included. */
  public List<ModelStatus> index() {
    return registry.index();
  }

  /**
   * Submits a request; its answer goes to its sink. Never blocks. A request can be submitted once.
   *
   * @return what the request can be taken back with
   * @throws IllegalStateException when it has been submitted before
   */
  public Submission submit(InferenceRequest request) {
    return requests.submit(request);
  }

  /** The version of a model that answers or, when none does, the one that says best why. */
  public Optional<ModelStatus> model(String name) {
    return model(name, "");
  }

  /**
   * One version of a model.
   *
   * @param version empty for the one that answers
   */
  public Optional<ModelStatus> model(String name, String version) {
    return registry
        .find(name)
        .map(model -> model.versions().find(version))
        .map(PublishedVersion::status);
  }

  /**
   * True when a request would be run: the version is ready and, where weights come only when the
   * operator asks for them, on the device.
   *
   * @param version empty for the one that answers
   */
  public boolean answers(String name, String version) {
    return registry
        .find(name)
        .map(model -> model.versions().find(version))
        .map(PublishedVersion::serving)
        .filter(serving -> options.residency().selfManaged() || serving.weights().isResident())
        .isPresent();
  }

  /**
   * True when a version is ready and yet refuses its requests, as its weights are not on the device
   * and only the operator has them brought.
   */
  public boolean awaitsOperator(String name, String version) {
    return !options.residency().selfManaged()
        && registry
            .find(name)
            .map(model -> model.versions().find(version))
            .map(PublishedVersion::serving)
            .filter(serving -> !serving.weights().isResident())
            .isPresent();
  }

  /**
   * How a version is served; empty unless it is ready.
   *
   * @param version empty for the one that answers
   */
  public Optional<ServingRules> rules(String name, String version) {
    return registry
        .find(name)
        .map(model -> model.versions().find(version))
        .map(PublishedVersion::serving)
        .map(requests::rules);
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

  private VersionStatistics statistics(ServedModel model) {
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
        model.weights().isResident() ? model.weights().byteSize() : 0);
  }

  /** The versions of a model, ascending; empty when there is no such model. */
  public List<ModelStatus> versions(String name) {
    return registry.find(name).stream()
        .flatMap(model -> model.versions().all().stream())
        .map(PublishedVersion::status)
        .toList();
  }

  /**
   * Changes a ready model's share of the device, from its next run on: of each of its versions, and
   * of those that are loaded later.
   *
   * @param weight relative to other models, above 0
   * @return false when no such model is ready, or too many changes are on their way
   */
  public boolean setWeight(String name, double weight) {
    if (!(weight > 0 && weight < Double.POSITIVE_INFINITY)) {
      throw new IllegalArgumentException(
          "weight " + weight + " of model '" + name + "' is not a number above 0");
    }
    RegisteredModel model = registry.get(name);
    if (model == null || model.serving() == null) {
      return false;
    }
    boolean all = true;
    for (PublishedVersion version : model.versions().all()) {
      ServedModel serving = version.serving();
      all &= serving == null || requests.setWeight(serving, weight);
    }
    if (all) {
      model.setWeight(weight);
    }
    return all;
  }

  /**
   * Says where the weights of a ready model wait: on the device, which they never leave, or in host
   * memory or their files, from which they come when they are needed. Of each of its versions, and
   * of those that are loaded later.
   *
   * @return completes when they are on the device, or may leave it; exceptionally, with a {@link
   *     dev.roundhouse.engine.device.DeviceException}, when they do not fit beside what is pinned
   *     or cannot be brought; with {@link IllegalStateException} when no such model is ready;
   *     cancelled when the engine stops first
   */
  public CompletableFuture<Void> setResidency(String name, ServingDefaults.Residency residency) {
    RegisteredModel model = registry.get(name);
    if (model == null || model.serving() == null) {
      return CompletableFuture.failedFuture(
          new IllegalStateException("no model '" + name + "' is ready"));
    }
    List<ServedModel> serving =
        model.versions().all().stream()
            .map(PublishedVersion::serving)
            .filter(Objects::nonNull)
            .toList();
    boolean pinned = residency == ServingDefaults.Residency.PINNED_DEVICE;
    return CompletableFuture.allOf(
            serving.stream()
                .map(each -> requests.pin(each, pinned))
                .toArray(CompletableFuture<?>[]::new))
        .thenRunAsync(
            () -> {
              model.setResidency(residency);
              // What is let go of may be gigabytes: not on the dispatch thread.
              serving.forEach(each -> this.residency.keepAs(each.weights(), residency));
            },
            threads.unloader());
  }

  /**
   * Takes all weights off the device that are neither pinned nor in use, so that what comes next
   * lies together, and brings those of some models back.
   *
   * @param reload names; those of models that are not ready are left out
   * @return completes when they are there; exceptionally when a model cannot be brought; cancelled
   *     when the engine stops first
   */
  public CompletableFuture<Compacted> compact(List<String> reload) {
    List<ServedModel> models =
        reload.stream()
            .distinct()
            .map(registry::get)
            .map(model -> model == null ? null : model.serving())
            .filter(Objects::nonNull)
            .toList();
    return requests.dispatch().compact(models);
  }

  /** Every model, by name; of its versions the one that answers, or says best why none does. */
  public List<ModelStatus> models() {
    return registry.statuses();
  }

  /** Models that serve although newer files of them could not be loaded, and why; by name. */
  public SortedMap<String, String> stale() {
    return registry.stale();
  }

  /** What there is to say of every model, by name; see {@link #report(String)}. */
  public List<ModelReport> report() {
    return registry.models().stream()
        .flatMap(model -> report(model).stream())
        .sorted(Comparator.comparing(report -> report.status().name()))
        .toList();
  }

  /**
   * What there is to say of one model: state, weights and programs of the version that answers,
   * counts of all together.
   */
  public Optional<ModelReport> report(String name) {
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
    ServedModel serving = head.serving();
    return new ModelReport(
        head.status(),
        totals.waiting(),
        front == ModelCounters.NONE_WAITS ? 0 : Math.max(0, now - front),
        counts,
        Optional.ofNullable(serving).map(model -> model.weights().onHost()),
        serving == null ? List.of() : serving.programs().stream().map(Engine::program).toList());
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

  /**
   * Writes what runs cost to the file for it, if the engine has one, so that the next start knows.
   * {@link #close} does so too; whoever wants to survive a crash calls this now and then. Blocks on
   * the disk.
   */
  public void saveCosts() {
    costs.save(registry.slots().all());
  }

  private static String costKey(DeviceDescription device) {
    return device.platform() + " / " + device.kind();
  }

  /** What has been counted for a model since the engine was opened, whichever version it was. */
  public Optional<ModelTotals> counters(String name) {
    return registry.find(name).map(RegisteredModel::totals);
  }

  /**
   * Bytes that accepted requests need, which are limited for all models together: inputs until the
   * request has ended, answers until their receiver has closed them; and what {@link #takeBytes}
   * took.
   */
  public long heldBytes() {
    return requests.heldBytes();
  }

  /** How many sequences are under way, of all models that keep state between requests. */
  public int sequences() {
    return requests.sequences();
  }

  /** The limit on {@link #heldBytes}. */
  public long maxHeldBytes() {
    return requests.bytes().limit();
  }

  /**
   * Takes bytes of those that are limited, for a request that is still being received or an answer
   * that is being written; false, taking none, when the limit does not allow it. Who submits the
   * request gives the bytes of its inputs back first, as admission takes them too.
   */
  public boolean takeBytes(long count) {
    return requests.bytes().take(count);
  }

  /** Counts bytes that are held whatever the limit is. */
  public void takeBytesAnyway(long count) {
    requests.bytes().takeAnyway(count);
  }

  /** Gives back what {@link #takeBytes} or {@link #takeBytesAnyway} took. */
  public void giveBackBytes(long count) {
    requests.bytes().giveBack(count);
  }

  /** What weights take in host memory. */
  public FloorTotals floors() {
    return floors.totals();
  }

  /** Bytes of weights on the device. */
  public long residentWeightBytes() {
    return requests.dispatch().residentWeightBytes();
  }

  /**
   * True when requests are accepted and no model is still loading that nothing serves yet. Models
   * that failed do not count: the others serve. Costs the same however many models there are.
   */
  public boolean isReady() {
    return isServing() && registry.loading() == 0;
  }

  /** True while requests are accepted, of whatever models there are. */
  public boolean isServing() {
    return !draining && isAlive();
  }

  /** Models of which a version failed to load and is not loaded since. */
  public int failedModels() {
    return registry.failed();
  }

  /**
   * False when the engine has failed and will not answer any more: the process should end and be
   * started again.
   */
  public boolean isAlive() {
    return requests.failStop().cause() == null;
  }

  /**
   * Has the engine fail as it does when its device is lost, for a server that cannot bring it
   * requests any more. Every open request is ended. Any thread; the first cause counts.
   */
  public void fail(Throwable cause) {
    requests.failStop().request(cause);
  }

  /**
   * Completes with the cause as soon as the engine is known to have failed; never otherwise. What
   * hangs on it runs on a thread of the engine, before the open requests are told, and must be
   * brief.
   */
  public CompletableFuture<Throwable> failing() {
    return requests.failStop().requested();
  }

  /** As {@link #failing}, when every open request has been told. */
  public CompletableFuture<Throwable> failed() {
    return requests.failStop().ended();
  }

  /** The clock that deadlines of requests are on. */
  public long nanoTime() {
    return options.clock().nanoTime();
  }

  /** Requests that were accepted and have not ended. */
  public long openRequests() {
    return registry.models().stream().mapToLong(model -> model.totals().open()).sum();
  }

  /**
   * Runs what is held for more requests, and holds nothing any more: for whoever is about to stop
   * and would rather not wait for a delay to pass.
   */
  public void stopHolding() {
    requests.dispatch().stopHolding();
  }

  /** Longest time between two choices of the dispatch thread while there was work. */
  public long longestDispatchCycleNanos() {
    return requests.dispatch().longestCycleNanos();
  }

  /**
   * Refuses new requests and waits for those accepted; none of them is held any more.
   *
   * @return true when all have ended within the budget
   */
  public boolean drain(Duration budget) throws InterruptedException {
    draining = true;
    requests.closeAdmission();
    stopHolding();
    return awaitNone(this::openRequests, budget);
  }

  private static boolean awaitNone(LongSupplier left, Duration budget) throws InterruptedException {
    long end = System.nanoTime() + budget.toNanos();
    while (left.getAsLong() > 0) {
      if (System.nanoTime() >= end) {
        return false;
      }
      TimeUnit.MILLISECONDS.sleep(1);
    }
    return true;
  }

  /**
   * Waits until receivers have closed every answer that lies in the device's memory, as large ones
   * do where that is the host's (see {@link dev.roundhouse.engine.device.DeviceBuffer#view}). They
   * stay readable when this engine is closed; the device must not be before.
   *
   * @return true when there is none, or none any more within the budget
   */
  public boolean awaitAnswers(Duration budget) throws InterruptedException {
    return awaitNone(requests::lentAnswers, budget);
  }

  /**
   * Ends what still waits, stops the threads and frees every model. Waits for a compile that is
   * under way, however long it takes. Answers that have been given stay their receivers'.
   */
  @Override
  public void close() {
    close(FOREVER);
  }

  /**
   * As {@link #close()}, waiting for compiles no longer than {@code loads}.
   *
   * @return false when a compile has not ended, or the engine has failed: a thread still uses the
   *     device, which must then not be closed
   */
  public boolean close(Duration loads) {
    draining = true;
    requests.closeAdmission();
    loader.stop();
    boolean ended = threads.close(loads);
    saveCosts();
    if (!isAlive()) {
      return false; // the device may still be using what the models hold
    }
    loader.close();
    floors.close();
    requests.close();
    return ended;
  }
}

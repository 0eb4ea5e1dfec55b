package dev.roundhouse.engine;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceDescription;
import dev.roundhouse.engine.model.CompiledProgram;
import dev.roundhouse.engine.model.CostStore;
import dev.roundhouse.engine.model.ModelImage;
import dev.roundhouse.engine.model.ModelLoader;
import dev.roundhouse.engine.model.ModelRegistry;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.model.RegisteredModel;
import dev.roundhouse.engine.model.ServedModel;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.observe.ModelCounters;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.residency.Residency;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * Serves models from one device: load them, submit requests, watch, drain, close. Thread-safe.
 *
 * <p>Owns the threads {@code dispatch} and {@code compile-n}; borrows the device, which must
 * outlive it.
 */
public final class Engine implements AutoCloseable {
  private final EngineOptions options;
  private final ModelRegistry registry = new ModelRegistry();
  private final RequestPath requests;
  private final ModelLoader loader;
  private final Residency residency;
  private final CostStore costs;
  private final EngineThreads threads;
  private volatile boolean draining;

  Engine(EngineOptions options, Device device, EngineThreads threads) {
    this.options = options;
    this.threads = threads;
    requests = new RequestPath(options, device, registry, threads);
    residency = new Residency(device, options.weights());
    costs = CostStore.open(options.costFile(), costKey(device.description()));
    loader =
        new ModelLoader(
            registry,
            device,
            residency,
            options.clock(),
            options.costAlpha(),
            costs,
            threads.compilers(),
            model -> threads.awaiting(requests.activate(model)));
    // First of all, so that nothing says "ready" while the open requests are being ended.
    requests.failStop().requested().thenAccept(requests::failAdmission);
    threads.start(requests.dispatch());
  }

  /** Starts an engine on a device. The device is borrowed until {@link #close}. */
  public static Engine open(EngineOptions options, Device device) {
    return new Engine(options, device, new OwnThreads(options));
  }

  /**
   * Starts to load the newest version in a model's folder; the name is known, as loading, when this
   * returns.
   *
   * @return completes with ready or failed; never exceptionally
   * @throws IllegalStateException when the name is taken
   */
  public CompletableFuture<ModelStatus> load(Path modelFolder) {
    return loader.load(modelFolder);
  }

  /**
   * Starts to load a model that has been read already; the name is known, as loading, when this
   * returns.
   *
   * @param image its weights are borrowed until the load has ended
   * @return completes with ready or failed; never exceptionally
   * @throws IllegalStateException when the name is taken
   */
  public CompletableFuture<ModelStatus> load(ModelImage image) {
    return loader.load(image);
  }

  /**
   * Submits a request; its answer goes to its sink. Never blocks. A request can be submitted once.
   *
   * @return what the request can be taken back with
   */
  public Submission submit(InferenceRequest request) {
    return requests.submit(request);
  }

  public Optional<ModelStatus> model(String name) {
    return registry.find(name).map(RegisteredModel::status);
  }

  /**
   * Changes a ready model's share of the device, from its next run on.
   *
   * @param weight relative to other models, above 0
   * @return false when no such model is ready, or too many changes are on their way
   */
  public boolean setWeight(String name, double weight) {
    if (!(weight > 0 && weight < Double.POSITIVE_INFINITY)) {
      throw new IllegalArgumentException(
          "weight " + weight + " of model '" + name + "' is not a number above 0");
    }
    return registry
        .find(name)
        .map(RegisteredModel::serving)
        .map(model -> requests.setWeight(model, weight))
        .orElse(false);
  }

  /** Every model, by name. */
  public List<ModelStatus> models() {
    return registry.statuses();
  }

  /** What there is to say of every model, by name. */
  public List<ModelReport> report() {
    return registry.models().stream()
        .map(this::report)
        .sorted(Comparator.comparing(report -> report.status().name()))
        .toList();
  }

  /** What there is to say of one model. */
  public Optional<ModelReport> report(String name) {
    return registry.find(name).map(this::report);
  }

  private ModelReport report(RegisteredModel model) {
    Map<Metric, Long> counts = new EnumMap<>(Metric.class);
    for (Metric metric : Metric.values()) {
      counts.put(metric, model.counters().get(metric));
    }
    long front = model.counters().frontArrivalNanos();
    long now = options.clock().nanoTime();
    ServedModel serving = model.serving();
    return new ModelReport(
        model.status(),
        model.counters().waiting(),
        front == ModelCounters.NONE_WAITS ? 0 : Math.max(0, now - front),
        counts,
        serving == null ? 0 : serving.weights().byteSize(),
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
    costs.save(
        registry.models().stream().map(RegisteredModel::serving).filter(Objects::nonNull).toList());
  }

  private static String costKey(DeviceDescription device) {
    return device.platform() + " / " + device.kind();
  }

  /** What has been counted for a model. */
  public Optional<ModelCounters> counters(String name) {
    return registry.find(name).map(RegisteredModel::counters);
  }

  /**
   * Bytes that accepted requests need, which are limited for all models together: inputs until the
   * request has ended, answers until their receiver has closed them.
   */
  public long heldBytes() {
    return requests.heldBytes();
  }

  /** Bytes of weights on the device. */
  public long residentWeightBytes() {
    return residency.residentBytes();
  }

  /**
   * True when requests are accepted and no model is still loading. Models that failed do not count:
   * the others serve.
   */
  public boolean isReady() {
    return !draining
        && isAlive()
        && registry.statuses().stream().noneMatch(each -> each.state() == ModelState.LOADING);
  }

  /**
   * False when the engine has failed and will not answer any more: the process should end and be
   * started again.
   */
  public boolean isAlive() {
    return requests.failStop().cause() == null;
  }

  /**
   * Completes with the cause when the engine has failed and every open request has been told so;
   * never otherwise. Completed on a thread of the engine: what hangs on it must be brief.
   */
  public CompletableFuture<Throwable> failure() {
    return requests.failStop().ended();
  }

  /** The clock that deadlines of requests are on. */
  public long nanoTime() {
    return options.clock().nanoTime();
  }

  /** Requests that were accepted and have not ended. */
  public long openRequests() {
    return registry.models().stream().mapToLong(model -> model.counters().open()).sum();
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
    long end = System.nanoTime() + budget.toNanos();
    while (openRequests() > 0) {
      if (System.nanoTime() >= end) {
        return false;
      }
      TimeUnit.MILLISECONDS.sleep(1);
    }
    return true;
  }

  /**
   * Ends what still waits, stops the threads and frees every model. What an engine that has failed
   * holds is left to the end of the process: the device may still be using it.
   */
  @Override
  public void close() {
    draining = true;
    requests.closeAdmission();
    loader.stop();
    threads.close();
    saveCosts();
    if (isAlive()) {
      registry.models().forEach(loader::unload);
      requests.close();
    }
  }
}

package dev.roundhouse.engine;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceDescription;
import dev.roundhouse.engine.hook.HookServer;
import dev.roundhouse.engine.hostweights.HostWeightStore;
import dev.roundhouse.engine.model.CostStore;
import dev.roundhouse.engine.model.LoadContext;
import dev.roundhouse.engine.model.ModelLoadListener;
import dev.roundhouse.engine.model.ModelLoader;
import dev.roundhouse.engine.model.ModelRegistry;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.model.ProgramModel;
import dev.roundhouse.engine.model.PublishedVersion;
import dev.roundhouse.engine.model.RegisteredModel;
import dev.roundhouse.engine.model.Servable;
import dev.roundhouse.engine.model.ServingLanes;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.residency.Residency;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Serves models from one device: load them ({@link #admin}), submit requests, watch ({@link
 * #reports}), drain, close. Thread-safe.
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
  private final HostWeightStore hostWeights;
  private final EngineThreads threads;
  private final HookServer hooks;
  private final EngineReports reports;
  private final EngineAdmin admin;
  private volatile boolean draining;

  Engine(EngineOptions options, Device device, EngineThreads threads) {
    this.options = options;
    this.threads = threads;
    hostWeights = new HostWeightStore(options.hostWeights(), device);
    Residency residency =
        new Residency(
            device,
            hostWeights,
            options.residency(),
            model ->
                options.of(model.name()).residency(registry.get(model.name()), model.serving()));
    requests = new RequestPath(options, device, residency, registry, threads);
    hooks =
        new HookServer(
            options.hooks(),
            options.clock(),
            requests.bytes(),
            options.maxQueueDepth(),
            threads.userCode(),
            threads.awaitedUserCode(),
            registry.called(),
            threads::watch);
    ResidencyChanges changes =
        new ResidencyChanges(registry, requests, residency, threads.unloader());
    CostStore costs = CostStore.open(options.costFile(), costKey(device.description()));
    loader =
        new ModelLoader(
            new LoadContext(
                registry,
                device,
                residency,
                options.clock(),
                options.costAlpha(),
                costs,
                hooks,
                options.links(),
                spec ->
                    options
                        .of(spec.name())
                        .requireHonoured(spec, options.limitNames().modelOption()),
                untilFailed(options.loads()),
                threads.compilers(),
                threads.unloader(),
                lanes(changes)));
    reports = new EngineReports(options, registry, requests, hostWeights);
    admin = new EngineAdmin(registry, requests, loader, changes, costs, hooks);
    // Comes first, so that nothing says "ready" while the open requests are being ended.
    requests.failStop().requested().thenAccept(requests::failAdmission);
    threads.start(requests.dispatch());
  }

  /**
   * A load in progress when the engine failed is not reported as ended: the process dies of it.
   * Loads requested later are not started.
   */
  private ModelLoadListener untilFailed(ModelLoadListener loads) {
    return new ModelLoadListener() {
      @Override
      public void onBegin(String model, String version, String fingerprint) {
        if (requests.failStop().cause() != null) {
          throw new CancellationException("the server has failed and is stopping");
        }
        loads.onBegin(model, version, fingerprint);
      }

      @Override
      public void onBuilt(String model, String version, int modelIndex) {
        loads.onBuilt(model, version, modelIndex);
      }

      @Override
      public void onEnd(String model, String version, boolean ready) {
        if (requests.failStop().cause() == null) {
          loads.onEnd(model, version, ready);
        }
      }
    };
  }

  private ServingLanes lanes(ResidencyChanges changes) {
    return new ServingLanes() {
      @Override
      public CompletableFuture<Void> open(Servable model) {
        ProgramModel programs = model.inLane();
        return threads.awaiting(
            programs == null ? changes.cover(model) : requests.activate(programs));
      }

      @Override
      public CompletableFuture<Void> retire(Servable model) {
        return requests.retire(model).thenRun(() -> changes.uncover(model));
      }
    };
  }

  /** Starts an engine on a device. The device is borrowed until {@link #close}. */
  public static Engine open(EngineOptions options, Device device) {
    return new Engine(options, device, new OwnThreads(options));
  }

  /** Loads, unloads, moves and weights models. */
  public EngineAdmin admin() {
    return admin;
  }

  /** Reports on models, weights and the dispatch thread. */
  public EngineReports reports() {
    return reports;
  }

  /**
   * Submits a request; its answer goes to its sink. Never blocks. A request can be submitted once.
   *
   * @return a handle to cancel the request
   * @throws IllegalStateException when it was already submitted
   */
  public Submission submit(InferenceRequest request) {
    return requests.submit(request);
  }

  /**
   * Counts a request for a model that was refused before it could be submitted, as one that {@link
   * #submit} refuses. A name that no model has is not counted.
   */
  public void countRefused(String model, Status status) {
    RegisteredModel found = registry.get(model);
    if (found != null) {
      found.countRefused(status);
    }
  }

  /**
   * The version of a model that answers or, when none does, the one whose status best explains why.
   */
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
        .filter(each -> each.status().isReady())
        .map(PublishedVersion::serving)
        .filter(serving -> options.residency().selfManaged() || serving.isOnDevice())
        .isPresent();
  }

  /**
   * True when a version is ready but refuses requests because its weights are not on the device and
   * only the operator can load them.
   */
  public boolean awaitsOperator(String name, String version) {
    return !options.residency().selfManaged()
        && registry
            .find(name)
            .map(model -> model.versions().find(version))
            .map(PublishedVersion::serving)
            .filter(serving -> !serving.isOnDevice())
            .isPresent();
  }

  /** Names of the models whose weights one needs that serves: its own, or of all that it calls. */
  public List<String> needs(String name) {
    return registry
        .find(name)
        .map(RegisteredModel::serving)
        .map(serving -> serving.needs().stream().map(ProgramModel::name).toList())
        .orElse(List.of());
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

  private static String costKey(DeviceDescription device) {
    return device.platform() + " / " + device.kind();
  }

  /**
   * Bytes that accepted requests need, limited across all models: inputs until the request has
   * ended, answers until their receiver has closed them; plus what {@link #takeBytes} took.
   */
  public long heldBytes() {
    return requests.heldBytes();
  }

  /** The limit on {@link #heldBytes}. */
  public long maxHeldBytes() {
    return requests.bytes().limit();
  }

  /**
   * Reserves bytes against the limit, for a request that is still being received or an answer that
   * is being written; false, reserving none, when the limit does not allow it. Give back a
   * request's input bytes before submitting it: admission reserves them too.
   */
  public boolean takeBytes(long count) {
    return requests.bytes().take(count);
  }

  /** Counts bytes as held regardless of the limit. */
  public void takeBytesAnyway(long count) {
    requests.bytes().takeAnyway(count);
  }

  /** Gives back what {@link #takeBytes} or {@link #takeBytesAnyway} took. */
  public void giveBackBytes(long count) {
    requests.bytes().giveBack(count);
  }

  /**
   * True when requests are accepted and every model that is still loading already has a serving
   * version. Failed models do not count. Constant time in the number of models.
   */
  public boolean isReady() {
    return isServing() && registry.loading() == 0;
  }

  /** True while requests are accepted, whatever the state of the models. */
  public boolean isServing() {
    return !draining && isAlive();
  }

  /** False when the engine has failed and no longer answers: the process should be restarted. */
  public boolean isAlive() {
    return requests.failStop().cause() == null;
  }

  /**
   * Fails the engine as if its device were lost, for a server that can no longer pass it requests.
   * Every open request is ended. Any thread; the first cause counts.
   */
  public void fail(Throwable cause) {
    requests.failStop().request(cause);
  }

  /**
   * Completes with the cause as soon as the engine is known to have failed; never otherwise.
   * Dependents run on an engine thread before the open requests are notified, and must be brief.
   */
  public CompletableFuture<Throwable> failing() {
    return requests.failStop().requested();
  }

  /** As {@link #failing}, once every open request has been notified. */
  public CompletableFuture<Throwable> failed() {
    return requests.failStop().ended();
  }

  /** The clock of request deadlines. */
  public long nanoTime() {
    return options.clock().nanoTime();
  }

  /** Requests that were accepted and have not ended. */
  public long openRequests() {
    return registry.models().stream().mapToLong(model -> model.totals().open()).sum();
  }

  /**
   * Refuses new requests and waits for accepted ones; stops holding batches.
   *
   * @return true when all have ended within the budget
   */
  public boolean drain(Duration budget) throws InterruptedException {
    draining = true;
    requests.closeAdmission();
    admin.stopHolding();
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
   * Waits until receivers have closed every answer held in device memory, as large ones are where
   * the host can read it (see {@link dev.roundhouse.engine.device.DeviceBuffer#view}). They stay
   * readable after this engine is closed, so close the device only afterwards.
   *
   * @return true when none is left within the budget
   */
  public boolean awaitAnswers(Duration budget) throws InterruptedException {
    return awaitNone(requests::lentAnswers, budget);
  }

  /**
   * Ends waiting requests, stops the threads and frees every model. Waits for a running compile,
   * however long it takes. Delivered answers remain with their receivers.
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
    admin.saveCosts();
    if (!isAlive()) {
      return false; // the device may still be using what the models hold
    }
    loader.close();
    hooks.close();
    hostWeights.close();
    requests.close();
    return ended;
  }
}

package dev.roundhouse.engine;

import dev.roundhouse.bundle.LinkRoots;
import dev.roundhouse.engine.dispatch.RunMark;
import dev.roundhouse.engine.dispatch.Watchdog;
import dev.roundhouse.engine.hook.HookOptions;
import dev.roundhouse.engine.hostweights.HostWeightsOptions;
import dev.roundhouse.engine.model.ModelLoadListener;
import dev.roundhouse.engine.residency.ResidencyOptions;
import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.engine.schedule.FairShare;
import dev.roundhouse.engine.thread.PlatformThreads;
import dev.roundhouse.engine.time.NanoClock;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.function.Supplier;

/**
 * How an engine is set up.
 *
 * @param discipline factory for what decides which ready model runs next: one for the device, one
 *     for the link that loads weights
 * @param costAlpha weight of the latest run in the expected cost of a run, in (0, 1]
 * @param maxQueueDepth requests that may wait per model
 * @param maxQueuedBytes total bytes that accepted requests may need: inputs, and their answers
 *     until written
 * @param maxAnswerBytes most bytes of one answer
 * @param maxQueueDelay how long an undersized batch may be held for more requests; zero for not at
 *     all
 * @param maxHandOver requests that may be between acceptance and the dispatch thread
 * @param compileThreads models that are loaded at once
 * @param spin how long the dispatch thread looks for work before it parks; it always stays awake
 *     when an accelerator's run is about to end
 * @param watchdog how long a device call or dispatch turn may take before the engine fails
 * @param userCode runs the code of models, hooks too, which may block it, or never end. Must be
 *     bounded, refuse what it has no room for, and run no task on the thread that submits it; for
 *     hooks, have more threads than these may have at once. Borrowed; without another, 512 platform
 *     threads for all engines of the process
 * @param hooks whose code is run in front of programs, and how long it may take
 * @param residency how weights come to the device and leave it
 * @param links what links in bundles may point to
 * @param costFile file that keeps run costs across restarts; empty for none
 * @param models per-model options, by name
 * @param loads listener for every load
 * @param runMark notified of every run
 * @param limitNames names of the limits in messages that tell an operator to raise them
 * @param clock for deadlines, waits and simulated devices
 */
public record EngineOptions(
    Supplier<Discipline> discipline,
    double costAlpha,
    int maxQueueDepth,
    long maxQueuedBytes,
    long maxAnswerBytes,
    Duration maxQueueDelay,
    int maxHandOver,
    int compileThreads,
    Duration spin,
    Watchdog.Limits watchdog,
    Executor userCode,
    HookOptions hooks,
    ResidencyOptions residency,
    HostWeightsOptions hostWeights,
    LinkRoots links,
    Optional<Path> costFile,
    Map<String, ModelOptions> models,
    ModelLoadListener loads,
    RunMark runMark,
    LimitNames limitNames,
    NanoClock clock) {

  public static final EngineOptions DEFAULT =
      new EngineOptions(
          () -> new FairShare(Duration.ofSeconds(30).toNanos(), 0.25),
          0.2,
          1024,
          1L << 30,
          Integer.MAX_VALUE,
          Duration.ZERO,
          16_384,
          1,
          Duration.ofNanos(20_000),
          Watchdog.Limits.DEFAULT,
          new PlatformThreads("hook", 2 * HookOptions.THREADS),
          HookOptions.DEFAULT,
          ResidencyOptions.DEFAULT,
          HostWeightsOptions.DEFAULT,
          LinkRoots.NONE,
          Optional.empty(),
          Map.of(),
          ModelLoadListener.NONE,
          RunMark.NONE,
          LimitNames.OPTIONS,
          NanoClock.SYSTEM);

  /**
   * @throws IllegalArgumentException when a value is out of bounds; names it
   */
  public EngineOptions {
    models = Map.copyOf(models);
    require(costAlpha > 0 && costAlpha <= 1, "costAlpha", costAlpha, "in (0, 1]");
    require(maxQueueDepth >= 1, "maxQueueDepth", maxQueueDepth, "1 or more");
    require(maxQueuedBytes >= 1, "maxQueuedBytes", maxQueuedBytes, "1 or more");
    require(maxAnswerBytes >= 1, "maxAnswerBytes", maxAnswerBytes, "1 or more");
    require(!maxQueueDelay.isNegative(), "maxQueueDelay", maxQueueDelay, "0 or more");
    require(
        maxHandOver >= 2 && maxHandOver <= 1 << 24, "maxHandOver", maxHandOver, "in 2..16777216");
    require(
        compileThreads >= 1 && compileThreads <= 256,
        "compileThreads",
        compileThreads,
        "in 1..256");
    require(!spin.isNegative(), "spin", spin, "0 or more");
  }

  private static void require(boolean holds, String option, Object value, String bounds) {
    if (!holds) {
      throw new IllegalArgumentException(
          "engine option " + option + " is " + value + "; it must be " + bounds);
    }
  }

  /** Starts from {@link #DEFAULT}. */
  public static Builder builder() {
    return new Builder(DEFAULT);
  }

  /** Starts from these options. */
  public Builder toBuilder() {
    return new Builder(this);
  }

  /** The options of a model. */
  public ModelOptions of(String model) {
    return models.getOrDefault(model, ModelOptions.DEFAULT);
  }

  /** Collects options; see {@link EngineOptions} for what each means. Not thread-safe. */
  public static final class Builder {
    private Supplier<Discipline> discipline;
    private double costAlpha;
    private int maxQueueDepth;
    private long maxQueuedBytes;
    private long maxAnswerBytes;
    private Duration maxQueueDelay;
    private int maxHandOver;
    private int compileThreads;
    private Duration spin;
    private Watchdog.Limits watchdog;
    private Executor userCode;
    private HookOptions hooks;
    private ResidencyOptions residency;
    private HostWeightsOptions hostWeights;
    private LinkRoots links;
    private Optional<Path> costFile;
    private Map<String, ModelOptions> models;
    private ModelLoadListener loads;
    private RunMark runMark;
    private LimitNames limitNames;
    private NanoClock clock;

    private Builder(EngineOptions options) {
      discipline = options.discipline;
      costAlpha = options.costAlpha;
      maxQueueDepth = options.maxQueueDepth;
      maxQueuedBytes = options.maxQueuedBytes;
      maxAnswerBytes = options.maxAnswerBytes;
      maxQueueDelay = options.maxQueueDelay;
      maxHandOver = options.maxHandOver;
      compileThreads = options.compileThreads;
      spin = options.spin;
      watchdog = options.watchdog;
      userCode = options.userCode;
      hooks = options.hooks;
      residency = options.residency;
      hostWeights = options.hostWeights;
      links = options.links;
      costFile = options.costFile;
      models = options.models;
      loads = options.loads;
      runMark = options.runMark;
      limitNames = options.limitNames;
      clock = options.clock;
    }

    public Builder discipline(Supplier<Discipline> value) {
      discipline = value;
      return this;
    }

    public Builder costAlpha(double value) {
      costAlpha = value;
      return this;
    }

    public Builder maxQueueDepth(int value) {
      maxQueueDepth = value;
      return this;
    }

    public Builder maxQueuedBytes(long value) {
      maxQueuedBytes = value;
      return this;
    }

    public Builder maxAnswerBytes(long value) {
      maxAnswerBytes = value;
      return this;
    }

    public Builder maxQueueDelay(Duration value) {
      maxQueueDelay = value;
      return this;
    }

    public Builder maxHandOver(int value) {
      maxHandOver = value;
      return this;
    }

    public Builder compileThreads(int value) {
      compileThreads = value;
      return this;
    }

    public Builder spin(Duration value) {
      spin = value;
      return this;
    }

    public Builder watchdog(Watchdog.Limits value) {
      watchdog = value;
      return this;
    }

    public Builder userCode(Executor value) {
      userCode = value;
      return this;
    }

    public Builder hooks(HookOptions value) {
      hooks = value;
      return this;
    }

    public Builder residency(ResidencyOptions value) {
      residency = value;
      return this;
    }

    public Builder hostWeights(HostWeightsOptions value) {
      hostWeights = value;
      return this;
    }

    public Builder links(LinkRoots value) {
      links = value;
      return this;
    }

    public Builder costFile(Path value) {
      costFile = Optional.of(value);
      return this;
    }

    public Builder models(Map<String, ModelOptions> value) {
      models = value;
      return this;
    }

    public Builder loads(ModelLoadListener value) {
      loads = value;
      return this;
    }

    public Builder runMark(RunMark value) {
      runMark = value;
      return this;
    }

    public Builder limitNames(LimitNames value) {
      limitNames = value;
      return this;
    }

    public Builder clock(NanoClock value) {
      clock = value;
      return this;
    }

    public EngineOptions build() {
      return new EngineOptions(
          discipline,
          costAlpha,
          maxQueueDepth,
          maxQueuedBytes,
          maxAnswerBytes,
          maxQueueDelay,
          maxHandOver,
          compileThreads,
          spin,
          watchdog,
          userCode,
          hooks,
          residency,
          hostWeights,
          links,
          costFile,
          models,
          loads,
          runMark,
          limitNames,
          clock);
    }
  }
}

package dev.roundhouse.engine;

import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.engine.schedule.FairShare;
import dev.roundhouse.engine.time.NanoClock;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * How an engine is set up.
 *
 * @param discipline makes what decides which ready model runs next; asked once per engine
 * @param costAlpha how much the latest run counts in what a run is expected to cost, in (0, 1]
 * @param maxQueueDepth requests that may wait per model
 * @param maxQueuedBytes bytes of inputs that accepted requests may hold together
 * @param maxQueueDelay how long a batch that could be larger may be held for more requests; zero
 *     holds none
 * @param maxHandOver requests that may be between acceptance and the dispatch thread
 * @param compileThreads models that are loaded at once
 * @param spin how long the dispatch thread looks for work before it parks
 * @param weights whether a device that can read host memory in place does so for weights
 * @param costFile where what runs cost is kept across restarts; empty to keep nothing
 * @param models what differs for single models, by name
 * @param clock for deadlines, waits and simulated devices
 */
public record EngineOptions(
    Supplier<Discipline> discipline,
    double costAlpha,
    int maxQueueDepth,
    long maxQueuedBytes,
    Duration maxQueueDelay,
    int maxHandOver,
    int compileThreads,
    Duration spin,
    HostMemory weights,
    Optional<Path> costFile,
    Map<String, ModelOptions> models,
    NanoClock clock) {

  public static final EngineOptions DEFAULT =
      new EngineOptions(
          () -> new FairShare(Duration.ofSeconds(30).toNanos(), 0.25),
          0.2,
          1024,
          1L << 30,
          Duration.ZERO,
          16_384,
          1,
          Duration.ofNanos(20_000),
          HostMemory.ALIAS,
          Optional.empty(),
          Map.of(),
          NanoClock.SYSTEM);

  public EngineOptions {
    models = Map.copyOf(models);
  }

  /** Starts from {@link #DEFAULT}. */
  public static Builder builder() {
    return new Builder(DEFAULT);
  }

  /** Starts from these options. */
  public Builder toBuilder() {
    return new Builder(this);
  }

  /** What is wanted of a model. */
  public ModelOptions of(String model) {
    return models.getOrDefault(model, ModelOptions.DEFAULT);
  }

  /** Collects options; see {@link EngineOptions} for what each means. Not thread-safe. */
  public static final class Builder {
    private Supplier<Discipline> discipline;
    private double costAlpha;
    private int maxQueueDepth;
    private long maxQueuedBytes;
    private Duration maxQueueDelay;
    private int maxHandOver;
    private int compileThreads;
    private Duration spin;
    private HostMemory weights;
    private Optional<Path> costFile;
    private Map<String, ModelOptions> models;
    private NanoClock clock;

    private Builder(EngineOptions options) {
      discipline = options.discipline;
      costAlpha = options.costAlpha;
      maxQueueDepth = options.maxQueueDepth;
      maxQueuedBytes = options.maxQueuedBytes;
      maxQueueDelay = options.maxQueueDelay;
      maxHandOver = options.maxHandOver;
      compileThreads = options.compileThreads;
      spin = options.spin;
      weights = options.weights;
      costFile = options.costFile;
      models = options.models;
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

    public Builder weights(HostMemory value) {
      weights = value;
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
          maxQueueDelay,
          maxHandOver,
          compileThreads,
          spin,
          weights,
          costFile,
          models,
          clock);
    }
  }
}

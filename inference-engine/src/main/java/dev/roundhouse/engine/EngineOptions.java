package dev.roundhouse.engine;

import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.engine.schedule.FairShare;
import dev.roundhouse.engine.time.NanoClock;
import java.time.Duration;
import java.util.Map;
import java.util.function.Supplier;

/**
 * How an engine is set up.
 *
 * @param discipline makes what decides which ready model runs next; asked once per engine
 * @param costAlpha how much the latest run counts in what a run is expected to cost, in (0, 1]
 * @param maxQueueDepth requests that may wait per model
 * @param maxHandOver requests that may be between acceptance and the dispatch thread
 * @param compileThreads models that are loaded at once
 * @param spin how long the dispatch thread looks for work before it parks
 * @param weights whether a device that can read host memory in place does so for weights
 * @param models what differs for single models, by name
 * @param clock for deadlines, waits and simulated devices
 */
public record EngineOptions(
    Supplier<Discipline> discipline,
    double costAlpha,
    int maxQueueDepth,
    int maxHandOver,
    int compileThreads,
    Duration spin,
    HostMemory weights,
    Map<String, ModelOptions> models,
    NanoClock clock) {

  public static final EngineOptions DEFAULT =
      new EngineOptions(
          () -> new FairShare(Duration.ofSeconds(30).toNanos(), 0.25),
          0.2,
          1024,
          16_384,
          1,
          Duration.ofNanos(20_000),
          HostMemory.ALIAS,
          Map.of(),
          NanoClock.SYSTEM);

  public EngineOptions {
    models = Map.copyOf(models);
  }

  public EngineOptions withDiscipline(Supplier<Discipline> other) {
    return new EngineOptions(
        other, costAlpha, maxQueueDepth, maxHandOver, compileThreads, spin, weights, models, clock);
  }

  public EngineOptions withCostAlpha(double other) {
    return new EngineOptions(
        discipline,
        other,
        maxQueueDepth,
        maxHandOver,
        compileThreads,
        spin,
        weights,
        models,
        clock);
  }

  public EngineOptions withMaxQueueDepth(int other) {
    return new EngineOptions(
        discipline, costAlpha, other, maxHandOver, compileThreads, spin, weights, models, clock);
  }

  public EngineOptions withWeights(HostMemory other) {
    return new EngineOptions(
        discipline,
        costAlpha,
        maxQueueDepth,
        maxHandOver,
        compileThreads,
        spin,
        other,
        models,
        clock);
  }

  public EngineOptions withModels(Map<String, ModelOptions> other) {
    return new EngineOptions(
        discipline,
        costAlpha,
        maxQueueDepth,
        maxHandOver,
        compileThreads,
        spin,
        weights,
        other,
        clock);
  }
}

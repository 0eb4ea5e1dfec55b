package dev.roundhouse.engine;

import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.time.NanoClock;
import java.time.Duration;
import java.util.Map;

/**
 * How an engine is set up.
 *
 * @param discipline which ready model runs next
 * @param maxQueueDepth requests that may wait per model
 * @param maxHandOver requests that may be between acceptance and the dispatch thread
 * @param compileThreads models that are loaded at once
 * @param spin how long the dispatch thread looks for work before it parks
 * @param weights whether a device that can read host memory in place does so for weights
 * @param rowCaps most rows that may run together, by model; absent for no cap
 * @param clock for deadlines, waits and simulated devices
 */
public record EngineOptions(
    Discipline discipline,
    int maxQueueDepth,
    int maxHandOver,
    int compileThreads,
    Duration spin,
    HostMemory weights,
    Map<String, Integer> rowCaps,
    NanoClock clock) {

  public static final EngineOptions DEFAULT =
      new EngineOptions(
          new Fifo(),
          1024,
          16_384,
          1,
          Duration.ofNanos(20_000),
          HostMemory.ALIAS,
          Map.of(),
          NanoClock.SYSTEM);

  public EngineOptions {
    rowCaps = Map.copyOf(rowCaps);
  }

  public EngineOptions withDiscipline(Discipline other) {
    return new EngineOptions(
        other, maxQueueDepth, maxHandOver, compileThreads, spin, weights, rowCaps, clock);
  }

  public EngineOptions withMaxQueueDepth(int other) {
    return new EngineOptions(
        discipline, other, maxHandOver, compileThreads, spin, weights, rowCaps, clock);
  }

  public EngineOptions withWeights(HostMemory other) {
    return new EngineOptions(
        discipline, maxQueueDepth, maxHandOver, compileThreads, spin, other, rowCaps, clock);
  }

  public EngineOptions withRowCaps(Map<String, Integer> other) {
    return new EngineOptions(
        discipline, maxQueueDepth, maxHandOver, compileThreads, spin, weights, other, clock);
  }

  public EngineOptions withClock(NanoClock other) {
    return new EngineOptions(
        discipline, maxQueueDepth, maxHandOver, compileThreads, spin, weights, rowCaps, other);
  }
}

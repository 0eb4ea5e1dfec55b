package dev.roundhouse.benchmarks.residency;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.residency.ResidencyOptions;
import dev.roundhouse.measure.Comparison;
import dev.roundhouse.measure.Pairs;
import dev.roundhouse.pjrt.PjrtDevice;
import dev.roundhouse.pjrt.PjrtDeviceOptions;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Loads of one model's weights by the engine, in turns with a bare loop that uploads the same
 * tensors from the same memory to the same device and waits for them.
 *
 * @param load how long the load itself took
 * @param firstCall how much longer the call that needed the load took than one that did not
 */
record ColdLoadTurns(Comparison load, Comparison firstCall) {
  /** On a CPU weights would stay where they lie otherwise. */
  static final ResidencyOptions COPIED = ResidencyOptions.DEFAULT.withUse(HostMemory.COPY);

  /** How many times the model's weights the device is said to hold. */
  private static final int ROOM = 2;

  private static final int WARM_CALLS = 5;

  /**
   * Measures.
   *
   * @param folder the bundle of {@code model}
   * @param warmUps rounds that do not count
   */
  static ColdLoadTurns measure(SummingModel model, Path folder, int warmUps, int rounds) {
    try (PjrtDevice device = PjrtDevice.open(PjrtDeviceOptions.DEFAULTS)) {
      WeightTap tap = new WeightTap(device, model.weights().size());
      // Only weights on a device that has an end ever leave it.
      ResidencyOptions limited = COPIED.withDeviceBytes(ROOM * model.byteSize());
      EngineOptions options = EngineOptions.builder().residency(limited).build();
      try (Engine engine = Engine.open(options, tap)) {
        load(engine, folder);
        return new Rounds(device, tap, engine, folder.getFileName().toString(), model.sums())
            .take(warmUps, rounds);
      }
    }
  }

  static void load(Engine engine, Path folder) {
    ModelStatus status = engine.admin().load(folder).join();
    if (!status.isReady()) {
      throw new IllegalStateException("a model did not load: " + status);
    }
  }

  private record Rounds(
      PjrtDevice device, WeightTap tap, Engine engine, String model, float[] expected) {

    ColdLoadTurns take(int warmUps, int rounds) {
      try (ExecutorService other = Executors.newSingleThreadExecutor()) {
        return take(warmUps, rounds, other);
      }
    }

    private ColdLoadTurns take(int warmUps, int rounds, ExecutorService other) {
      SingleCaller caller = new SingleCaller(engine);
      Pairs loads = new Pairs();
      long[] firsts = new long[rounds];
      long[] warms = new long[rounds];
      long[] bares = new long[rounds];
      for (int round = -warmUps; round < rounds; round++) {
        evict();
        long before = loadNanos();
        long first = caller.call(model, expected);
        long load = loadNanos() - before;
        long warm = warmNanos(caller);
        long bare = bareNanos(other);
        if (round >= 0) {
          loads.add(load / 1e6, bare / 1e6);
          firsts[round] = first;
          warms[round] = warm;
          bares[round] = bare;
        }
      }
      long usualWarm = median(warms);
      Pairs firstCalls = new Pairs();
      for (int round = 0; round < rounds; round++) {
        firstCalls.add(Math.max(firsts[round] - usualWarm, 1) / 1e6, bares[round] / 1e6);
      }
      return new ColdLoadTurns(loads.compare(), firstCalls.compare());
    }

    /** The C library keeps freed memory for one thread and not for another: the faster counts. */
    private long bareNanos(ExecutorService other) {
      long here = tap.bareNanos();
      return Math.min(here, CompletableFuture.supplyAsync(tap::bareNanos, other).join());
    }

    private long warmNanos(SingleCaller caller) {
      long[] nanos = new long[WARM_CALLS];
      for (int i = 0; i < WARM_CALLS; i++) {
        nanos[i] = caller.call(model, expected);
      }
      return median(nanos);
    }

    private static long median(long[] nanos) {
      long[] sorted = nanos.clone();
      Arrays.sort(sorted);
      return sorted[sorted.length / 2];
    }

    private long loadNanos() {
      return engine.reports().counters(model).orElseThrow().get(Metric.WEIGHT_LOAD);
    }

    /** Returns when the weights have left and their memory has been freed. */
    private void evict() {
      int there = device.openHandles();
      // The batch that used them last may not have been let go of yet.
      while (engine.reports().residentWeightBytes() > 0) {
        engine.admin().compact(List.of()).join();
      }
      while (device.openHandles() > there - tap.count()) {
        Thread.yield();
      }
    }
  }
}

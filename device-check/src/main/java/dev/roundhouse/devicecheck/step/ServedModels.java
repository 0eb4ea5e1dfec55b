package dev.roundhouse.devicecheck.step;

import dev.roundhouse.devicecheck.CheckContext;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.residency.ResidencyOptions;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** An engine with models that were made up, and what it has counted of them. */
record ServedModels(Engine engine) {
  private static final long PATIENCE_SECONDS = 60;

  /** Weights are evicted only under some limit; no device has this much. */
  private static final long NO_LIMIT_IN_PRACTICE = 1L << 50;

  /**
   * Options of an engine that brings weights over to the device, also where that could read them
   * where they are.
   */
  static EngineOptions options(CheckContext context) {
    HostMemory use = context.isCpu() ? HostMemory.COPY : HostMemory.ALIAS;
    return EngineOptions.builder()
        .residency(ResidencyOptions.DEFAULT.withUse(use).withDeviceBytes(NO_LIMIT_IN_PRACTICE))
        .build();
  }

  /**
   * Loads a model.
   *
   * @throws IllegalStateException when it fails
   */
  void load(WeighedModel model) {
    ModelStatus status = engine.admin().load(model.image()).join();
    if (!status.isReady()) {
      throw new IllegalStateException(model.name() + " does not load: " + status.reason());
    }
  }

  /** Takes what may leave off the device, and brings these weights. */
  void bring(WeighedModel model) {
    var unused =
        engine
            .admin()
            .compact(List.of(model.name()))
            .orTimeout(PATIENCE_SECONDS, TimeUnit.SECONDS)
            .join();
  }

  /**
   * As {@link #bring}; says how long the weights had the link.
   *
   * @return nanoseconds
   */
  long nanosToBring(WeighedModel model) {
    long before = count(model, Metric.WEIGHT_LOAD);
    bring(model);
    return count(model, Metric.WEIGHT_LOAD) - before;
  }

  void unload(WeighedModel model) {
    engine.admin().unload(model.name()).orTimeout(PATIENCE_SECONDS, TimeUnit.SECONDS).join();
  }

  long count(WeighedModel model, Metric metric) {
    return engine.reports().counters(model.name()).orElseThrow().get(metric);
  }

  /** Of all models together. */
  long count(Iterable<WeighedModel> models, Metric metric) {
    long sum = 0;
    for (WeighedModel model : models) {
      sum += count(model, metric);
    }
    return sum;
  }
}

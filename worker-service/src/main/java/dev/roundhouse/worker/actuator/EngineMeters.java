package dev.roundhouse.worker.actuator;

import static dev.roundhouse.platform.metrics.Metric.DISPATCH_CYCLE_LONGEST;
import static dev.roundhouse.platform.metrics.Metric.MEMORY_HELD;
import static dev.roundhouse.platform.metrics.Metric.MEMORY_LIMIT;
import static dev.roundhouse.platform.metrics.Metric.MODELS;
import static dev.roundhouse.platform.metrics.Metric.MODELS_STALE;
import static dev.roundhouse.platform.metrics.Metric.REQUESTS_OPEN;
import static dev.roundhouse.platform.metrics.Metric.SEQUENCES;
import static dev.roundhouse.platform.metrics.Metric.SEQUENCES_HELD;
import static dev.roundhouse.platform.metrics.Metric.SEQUENCES_LIMIT;
import static dev.roundhouse.platform.metrics.Metric.WEIGHTS_RESIDENT;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.platform.metrics.Meters;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.Locale;

/** Shows what the engine counts, where there is one of; {@link EngineSeries} shows the rest. */
public final class EngineMeters implements MeterBinder {
  private final Engine engine;
  private final long maxHeldBytes;

  /**
   * @param maxHeldBytes most bytes that inputs and answers together may hold
   */
  public EngineMeters(Engine engine, long maxHeldBytes) {
    this.engine = engine;
    this.maxHeldBytes = maxHeldBytes;
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    Meters meters = new Meters(registry);
    for (ModelState state : ModelState.values()) {
      String name = state.name().toLowerCase(Locale.ROOT);
      meters.read(MODELS, engine, each -> count(each, state), name);
    }
    meters.read(MODELS_STALE, engine, each -> each.reports().stale().size());
    meters.read(REQUESTS_OPEN, engine, Engine::openRequests);
    meters.read(SEQUENCES, engine, each -> each.reports().sequences());
    meters.read(SEQUENCES_HELD, engine, each -> each.reports().sequenceMemory().heldBytes());
    meters.read(SEQUENCES_LIMIT, engine, each -> each.reports().sequenceMemory().limitBytes());
    meters.read(WEIGHTS_RESIDENT, engine, each -> each.reports().residentWeightBytes());
    meters.read(
        DISPATCH_CYCLE_LONGEST, engine, each -> each.reports().recentDispatchCycleNanos() / 1e9);
    meters.read(MEMORY_HELD, engine, Engine::heldBytes);
    meters.read(MEMORY_LIMIT, this, each -> each.maxHeldBytes);
  }

  private static double count(Engine engine, ModelState state) {
    return engine.reports().models().stream().filter(model -> model.state() == state).count();
  }
}

package dev.roundhouse.worker.actuator;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.observe.ModelCounters;
import dev.roundhouse.engine.observe.ModelTotals;
import dev.roundhouse.worker.lifecycle.EngineLifecycle.ModelLoaded;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.springframework.context.event.EventListener;

/** Shows what the engine counts; meters read, so nothing is added to the request path. */
public final class EngineMeters implements MeterBinder {
  private final Engine engine;
  private final long maxHeldBytes;
  private volatile @Nullable MeterRegistry registry;

  /** What has series already: a model that comes back goes on with those it had. */
  private final Set<ModelTotals> bound = ConcurrentHashMap.newKeySet();

  /**
   * @param maxHeldBytes most bytes that inputs and answers together may hold
   */
  public EngineMeters(Engine engine, long maxHeldBytes) {
    this.engine = engine;
    this.maxHeldBytes = maxHeldBytes;
  }

  @Override
  public void bindTo(MeterRegistry meters) {
    registry = meters;
    for (ModelState state : ModelState.values()) {
      Gauge.builder("roundhouse.models", engine, each -> count(each, state))
          .description("Models by state")
          .tag("state", state.name().toLowerCase(Locale.ROOT))
          .register(meters);
    }
    Gauge.builder("roundhouse.models.stale", engine, each -> each.reports().stale().size())
        .description("Models that serve although newer files of them could not be loaded")
        .register(meters);
    Gauge.builder("roundhouse.requests.open", engine, Engine::openRequests)
        .description("Accepted requests that have not ended")
        .register(meters);
    Gauge.builder("roundhouse.sequences", engine, each -> each.reports().sequences())
        .description("Sequences whose state is kept between requests")
        .register(meters);
    Gauge.builder(
            "roundhouse.weights.resident", engine, each -> each.reports().residentWeightBytes())
        .description("Weights on the device")
        .baseUnit("bytes")
        .register(meters);
    TimeGauge.builder(
            "roundhouse.dispatch.cycle.longest",
            engine,
            TimeUnit.NANOSECONDS,
            each -> each.reports().longestDispatchCycleNanos())
        .description("Longest time between two choices of the dispatch thread while there was work")
        .register(meters);
    Gauge.builder("roundhouse.memory.held", engine, Engine::heldBytes)
        .description("Inputs of accepted requests, and answers until they are written")
        .baseUnit("bytes")
        .register(meters);
    Gauge.builder("roundhouse.memory.limit", this, each -> each.maxHeldBytes)
        .description("What inputs and answers together may hold")
        .baseUnit("bytes")
        .register(meters);
    engine.reports().models().forEach(model -> bind(model, meters));
  }

  /**
   * Only loaded models get series of their own, so that callers cannot make any by guessing names.
   */
  @EventListener
  void onModelLoaded(ModelLoaded event) {
    MeterRegistry meters = registry;
    if (meters != null) {
      bind(event.model(), meters);
    }
  }

  private void bind(ModelStatus model, MeterRegistry meters) {
    ModelTotals counters = engine.reports().counters(model.name()).orElse(null);
    if (counters == null || !model.isReady() || !bound.add(counters)) {
      return;
    }
    Gauge.builder("roundhouse.requests.waiting", counters, ModelTotals::waiting)
        .description("Requests that are accepted and have not begun to run")
        .tag("model", model.name())
        .register(meters);
    Gauge.builder("roundhouse.queue.oldest.wait", counters, this::oldestWaitSeconds)
        .description("How long the request at the front of the queue has waited")
        .baseUnit("seconds")
        .tag("model", model.name())
        .register(meters);
    for (Metric metric : Metric.values()) {
      boolean time =
          metric == Metric.COMPUTE || metric == Metric.QUEUE_WAIT || metric == Metric.WEIGHT_LOAD;
      double scale = time ? 1.0 / TimeUnit.SECONDS.toNanos(1) : 1;
      FunctionCounter.builder(metric.meterName(), counters, each -> each.get(metric) * scale)
          .description(time ? metric.help().replace("Nanoseconds", "Seconds") : metric.help())
          .baseUnit(time ? "seconds" : null)
          .tag("model", model.name())
          .tags(tags(metric))
          .register(meters);
    }
  }

  private double oldestWaitSeconds(ModelTotals counters) {
    long front = counters.frontArrivalNanos();
    boolean waits = front != ModelCounters.NONE_WAITS && counters.waiting() > 0;
    return waits ? Math.max(0, engine.nanoTime() - front) / 1e9 : 0;
  }

  private static Tags tags(Metric metric) {
    Tags tags = Tags.empty();
    for (Map.Entry<String, String> label : metric.labels().entrySet()) {
      tags = tags.and(label.getKey(), label.getValue());
    }
    return tags;
  }

  private static double count(Engine engine, ModelState state) {
    return engine.reports().models().stream().filter(model -> model.state() == state).count();
  }
}

package dev.roundhouse.worker.actuator;

import static dev.roundhouse.engine.observe.Metric.ACCEPTED;
import static dev.roundhouse.engine.observe.Metric.COMPUTE;
import static dev.roundhouse.engine.observe.Metric.QUEUE_WAIT;
import static dev.roundhouse.engine.observe.Metric.WEIGHT_LOAD;

import dev.roundhouse.engine.CountedModel;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.observe.InferenceReading;
import dev.roundhouse.engine.observe.ModelCounters;
import dev.roundhouse.engine.observe.ModelTotals;
import dev.roundhouse.platform.metrics.Metric;
import dev.roundhouse.platform.metrics.Series;
import dev.roundhouse.worker.config.MetricsProperties.PerModel;
import dev.roundhouse.worker.trace.LatestTraces;
import io.prometheus.metrics.model.snapshots.Exemplar;
import io.prometheus.metrics.model.snapshots.Exemplars;
import io.prometheus.metrics.model.snapshots.Labels;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.function.ToLongFunction;

/**
 * Shows what the engine counts of each model. Reads, so that nothing is added to the way of a
 * request. A name has series from when it is ready, and none once it is unloaded: callers cannot
 * make any by guessing names. Thread-safe.
 */
final class ModelSeries {
  private static final double NANOS = 1e-9;

  /** A metric's reasons one after the other, as a scrape sorts them. */
  private static final List<dev.roundhouse.engine.observe.Metric> BY_REASON =
      Arrays.stream(dev.roundhouse.engine.observe.Metric.values())
          .sorted(Comparator.comparing(dev.roundhouse.engine.observe.Metric::reason))
          .toList();

  private final Engine engine;
  private final PerModel perModel;
  private final LatestTraces latest;

  /**
   * @param latest that the times of requests point at
   */
  ModelSeries(Engine engine, PerModel perModel, LatestTraces latest) {
    this.engine = engine;
    this.perModel = perModel;
    this.latest = latest;
  }

  /**
   * Shows some models, or all of them together.
   *
   * @param shown those that {@link #isShown}
   */
  void add(List<CountedModel> models, List<CountedModel> shown, Series to) {
    if (perModel == PerModel.NONE) {
      addSum(models, to);
    } else {
      shown.forEach(model -> add(model, to));
    }
  }

  /** A model that failed after it had served says by its counts what became of its requests. */
  boolean isShown(CountedModel model) {
    ModelState state = model.status().state();
    boolean used = state != ModelState.UNLOADED && model.totals().get(ACCEPTED) > 0;
    return switch (perModel) {
      case ALL -> used || state == ModelState.READY;
      case USED -> used;
      case NONE -> false;
    };
  }

  private void add(CountedModel model, Series to) {
    ModelTotals totals = model.totals();
    Labels labels = Series.labels("model", model.name());
    to.add(Metric.REQUESTS_WAITING, labels, totals.waiting());
    to.add(Metric.QUEUE_OLDEST_WAIT, labels, oldestWaitSeconds(totals));
    to.add(Metric.MODEL_DEVICE, labels, model.deviceBytes());
    if (model.place() != CountedModel.Place.NONE) {
      String place = model.place().name().toLowerCase(Locale.ROOT);
      to.add(Metric.MODEL_PLACE, Series.labels("model", model.name(), "place", place), 1);
    }
    addCounts(labels, totals::get, to);
    addTimes(labels, totals.answered(), totals.ran(), latest(model.name()), to);
  }

  private void addSum(List<CountedModel> models, Series to) {
    Labels labels = Series.labels("model", ""); // which Prometheus takes for none
    InferenceReading answered = InferenceReading.NOTHING;
    InferenceReading ran = InferenceReading.NOTHING;
    int waiting = 0;
    double oldest = 0;
    long deviceBytes = 0;
    for (CountedModel model : models) {
      answered = answered.plus(model.totals().answered());
      ran = ran.plus(model.totals().ran());
      waiting += model.totals().waiting();
      oldest = Math.max(oldest, oldestWaitSeconds(model.totals()));
      deviceBytes += model.deviceBytes();
    }
    to.add(Metric.REQUESTS_WAITING, labels, waiting);
    to.add(Metric.QUEUE_OLDEST_WAIT, labels, oldest);
    to.add(Metric.MODEL_DEVICE, labels, deviceBytes);
    addCounts(labels, counted -> sum(models, counted), to);
    addTimes(labels, answered, ran, Exemplars.EMPTY, to);
  }

  /** Unloaded models included: a sum that fell would look like a restart. */
  static long sum(List<CountedModel> models, dev.roundhouse.engine.observe.Metric counted) {
    return models.stream().mapToLong(model -> model.totals().get(counted)).sum();
  }

  private static void addCounts(
      Labels labels, ToLongFunction<dev.roundhouse.engine.observe.Metric> counts, Series to) {
    for (var counted : BY_REASON) {
      boolean time = counted == COMPUTE || counted == QUEUE_WAIT || counted == WEIGHT_LOAD;
      to.add(
          shown(counted),
          counted.reason().isEmpty() ? labels : labels.add("reason", counted.reason()),
          counts.applyAsLong(counted) * (time ? NANOS : 1));
    }
  }

  private static void addTimes(
      Labels labels, InferenceReading answered, InferenceReading ran, Exemplars latest, Series to) {
    if (answered.requests() > 0) {
      to.add(Metric.REQUEST_TIME, labels, Spread.ofAnswers(answered), latest);
    }
    if (ran.requests() > 0) {
      to.add(Metric.REQUEST_WAIT, labels, Spread.ofWaits(ran));
      to.add(Metric.RUN_TIME, labels, Spread.ofRuns(ran));
      to.add(Metric.RUN_ROWS, labels, Spread.ofRows(ran));
    }
  }

  private Exemplars latest(String model) {
    LatestTraces.Told told = latest.of(model);
    return told == null
        ? Exemplars.EMPTY
        : Exemplars.of(
            Exemplar.builder()
                .value(told.seconds())
                .traceId(told.traceId())
                .spanId(told.spanId())
                .timestampMillis(told.epochMillis())
                .build());
  }

  private double oldestWaitSeconds(ModelTotals totals) {
    long front = totals.frontArrivalNanos();
    boolean waits = front != ModelCounters.NONE_WAITS && totals.waiting() > 0;
    return waits ? Math.max(0, engine.nanoTime() - front) * NANOS : 0;
  }

  private static Metric shown(dev.roundhouse.engine.observe.Metric counted) {
    return switch (counted) {
      case ACCEPTED -> Metric.REQUESTS_ACCEPTED;
      case REFUSED_INVALID, REFUSED_LATE, REFUSED_FULL, REFUSED_UNAVAILABLE ->
          Metric.REQUESTS_REFUSED;
      case FAILED -> Metric.REQUESTS_FAILED;
      case SHED_DEADLINE_PASSED,
          SHED_TOO_LITTLE_TIME,
          SHED_QUEUE_TIMEOUT,
          SHED_NO_ROOM,
          SHED_STOPPING ->
          Metric.REQUESTS_SHED;
      case CANCELLED -> Metric.REQUESTS_CANCELLED;
      case COMPLETED -> Metric.REQUESTS_COMPLETED;
      case WEIGHT_LOADS -> Metric.WEIGHTS_LOADS;
      case WEIGHT_EVICTIONS -> Metric.WEIGHTS_EVICTIONS;
      case WEIGHT_LOAD -> Metric.WEIGHTS_LOAD;
      case POSITIONS -> Metric.POSITIONS;
      case PADDING_POSITIONS -> Metric.POSITIONS_PADDING;
      case IN_PLACE_ROWS -> Metric.ROWS_IN_PLACE;
      case PADDING_ROWS -> Metric.ROWS_PADDING;
      case EXECUTIONS -> Metric.EXECUTIONS;
      case ROWS -> Metric.ROWS;
      case INPUT_BYTES -> Metric.INPUTS;
      case OUTPUT_BYTES -> Metric.OUTPUTS;
      case COMPUTE -> Metric.COMPUTE;
      case QUEUE_WAIT -> Metric.QUEUE_WAIT;
    };
  }
}

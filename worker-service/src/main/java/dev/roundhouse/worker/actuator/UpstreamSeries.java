package dev.roundhouse.worker.actuator;

import static dev.roundhouse.engine.observe.Metric.CANCELLED;
import static dev.roundhouse.engine.observe.Metric.COMPLETED;
import static dev.roundhouse.engine.observe.Metric.COMPUTE;
import static dev.roundhouse.engine.observe.Metric.EXECUTIONS;
import static dev.roundhouse.engine.observe.Metric.FAILED;
import static dev.roundhouse.engine.observe.Metric.REFUSED;
import static dev.roundhouse.engine.observe.Metric.ROWS;
import static dev.roundhouse.engine.observe.Metric.WEIGHT_EVICTIONS;
import static dev.roundhouse.engine.observe.Metric.WEIGHT_LOAD;
import static dev.roundhouse.engine.observe.Metric.WEIGHT_LOADS;

import dev.roundhouse.engine.CountedModel;
import dev.roundhouse.engine.CountedModel.Place;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.observe.InferenceReading;
import dev.roundhouse.engine.observe.ModelTotals;
import dev.roundhouse.platform.metrics.Metric;
import dev.roundhouse.platform.metrics.Series;
import io.prometheus.metrics.model.snapshots.Labels;
import java.util.List;

/** Shows models by the names that ReactantServer has, for its dashboards. Thread-safe. */
final class UpstreamSeries {
  private final Engine engine;

  UpstreamSeries(Engine engine) {
    this.engine = engine;
  }

  /**
   * Shows some models, and all together.
   *
   * @param shown those that have series of their own
   */
  void add(List<CountedModel> models, List<CountedModel> shown, Series to) {
    shown.forEach(model -> add(model, to));
    to.add(Metric.UP_WEIGHT_LOADS, Labels.EMPTY, ModelSeries.sum(models, WEIGHT_LOADS));
    to.add(Metric.UP_WEIGHT_EVICTS, Labels.EMPTY, ModelSeries.sum(models, WEIGHT_EVICTIONS));
    to.add(Metric.UP_WEIGHT_LOAD, Labels.EMPTY, ModelSeries.sum(models, WEIGHT_LOAD) / 1e9);
    List<CountedModel> ready = models.stream().filter(each -> each.status().isReady()).toList();
    to.add(Metric.UP_MODELS_LOADED, Labels.EMPTY, ready.size());
    to.add(
        Metric.UP_MODELS_RESIDENT,
        Labels.EMPTY,
        ready.stream().filter(each -> each.place() == Place.DEVICE).count());
    long resident = engine.reports().residentWeightBytes();
    to.add(Metric.UP_RESIDENT, Labels.EMPTY, resident);
    to.add(Metric.UP_CACHE_RESIDENT, Labels.EMPTY, resident);
    to.add(Metric.UP_INFLIGHT, Labels.EMPTY, engine.openRequests());
  }

  private static void add(CountedModel model, Series to) {
    Labels labels = Series.labels("model", model.name());
    ModelTotals totals = model.totals();
    long refused = REFUSED.stream().mapToLong(totals::get).sum();
    // in the order in which a scrape sorts them
    ended(labels, "cancelled", totals.get(CANCELLED), to);
    ended(labels, "error", totals.get(FAILED), to);
    ended(labels, "ok", totals.get(COMPLETED), to);
    ended(labels, "refused", refused, to);
    ended(labels, "shed", totals.shed(), to);
    to.add(Metric.UP_SERVED, labels, totals.get(COMPLETED));
    to.add(Metric.UP_SHED, labels, totals.shed());
    to.add(Metric.UP_DISPATCHES, labels, totals.get(EXECUTIONS));
    to.add(Metric.UP_COMPUTE, labels, totals.get(COMPUTE) / 1e9);
    to.add(Metric.UP_ROWS, labels, totals.get(ROWS));
    to.add(Metric.UP_QUEUE_DEPTH, labels, totals.waiting());
    to.add(Metric.UP_MODEL_RESIDENT, labels, model.place() == Place.DEVICE ? 1 : 0);
    to.add(Metric.UP_MODEL_MAX_BATCH, labels, model.status().maxBatchSize());
    InferenceReading answered = totals.answered();
    if (answered.requests() > 0) {
      to.add(Metric.UP_LATENCY, labels, Spread.ofAnswers(answered));
    }
  }

  private static void ended(Labels labels, String status, long count, Series to) {
    to.add(Metric.UP_REQUESTS, labels.add("status", status), count);
  }
}

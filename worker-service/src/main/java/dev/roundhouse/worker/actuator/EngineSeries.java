package dev.roundhouse.worker.actuator;

import dev.roundhouse.engine.CountedModel;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.SchedulerReport;
import dev.roundhouse.engine.dispatch.DispatchState;
import dev.roundhouse.engine.hostweights.HostWeightsTotals;
import dev.roundhouse.platform.metrics.Metric;
import dev.roundhouse.platform.metrics.Series;
import dev.roundhouse.worker.config.MetricsProperties;
import dev.roundhouse.worker.config.MetricsProperties.PerModel;
import dev.roundhouse.worker.trace.LatestTraces;
import dev.roundhouse.worker.transport.Tenants;
import io.prometheus.metrics.model.snapshots.Labels;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * What a scrape shows of an engine, apart from what {@link EngineMeters} has. Thread-safe: each
 * scrape makes its own.
 */
public final class EngineSeries implements Consumer<Series> {
  private final Engine engine;
  private final MetricsProperties properties;
  private final ModelSeries models;
  private final LatestTraces latest;
  private final DispatchSeries dispatch;
  private final Tenants tenants;
  private final TritonSeries triton = new TritonSeries();
  private final UpstreamSeries upstream;

  /**
   * @param latest that histograms point at
   * @param tenants that share the device
   */
  public EngineSeries(
      Engine engine, MetricsProperties properties, LatestTraces latest, Tenants tenants) {
    this.latest = latest;
    this.engine = engine;
    this.properties = properties;
    models = new ModelSeries(engine, properties.perModel(), latest);
    dispatch = new DispatchSeries(engine, tenants);
    this.tenants = tenants;
    upstream = new UpstreamSeries(engine);
  }

  @Override
  public void accept(Series series) {
    // First: the dispatch thread answers while the rest is made.
    CompletableFuture<SchedulerReport> asked =
        properties.perModel() == PerModel.NONE && !tenants.areSeveral() ? null : dispatch.ask();
    // A scrape sorts each metric's series by their labels, which takes a quarter of its time for
    // 20,000 models in no order, and next to nothing for what comes sorted.
    List<CountedModel> all =
        engine.reports().counted().stream()
            .sorted(Comparator.comparing(CountedModel::name))
            .toList();
    List<CountedModel> shown = all.stream().filter(models::isShown).toList();
    Set<String> names = shown.stream().map(CountedModel::name).collect(Collectors.toSet());
    latest.retain(names);
    models.add(all, shown, series);
    addDevice(series);
    addLink(series);
    addHostWeights(engine.reports().hostWeights(), series);
    if (properties.tritonNames()) {
      triton.add(names.isEmpty() ? List.of() : engine.reports().statistics("", ""), names, series);
    }
    if (properties.upstreamNames()) {
      upstream.add(all, shown, series);
    }
    if (asked != null) {
      dispatch.add(asked, names, series);
    }
  }

  private void addDevice(Series to) {
    engine
        .reports()
        .deviceTime()
        .forEach(
            (use, nanos) -> {
              switch (use) {
                case RUNNING -> to.add(Metric.DEVICE_BUSY, Labels.EMPTY, nanos / 1e9);
                case NO_REQUESTS, WEIGHTS, HELD, ANSWERS, DISPATCH -> {
                  String reason = use.name().toLowerCase(Locale.ROOT).replace('_', '-');
                  to.add(Metric.DEVICE_IDLE, Series.labels("reason", reason), nanos / 1e9);
                }
              }
            });
  }

  private void addLink(Series to) {
    to.add(Metric.LINK_BUSY, Labels.EMPTY, engine.reports().linkNanos() / 1e9);
    to.add(Metric.BATCH_SLOTS, Labels.EMPTY, DispatchState.BATCH_SLOTS);
  }

  private static void addHostWeights(HostWeightsTotals weights, Series to) {
    to.add(Metric.HOST_WEIGHTS_HELD, Labels.EMPTY, weights.heldBytes());
    to.add(Metric.HOST_WEIGHTS_READS, Labels.EMPTY, weights.reads());
    to.add(Metric.HOST_WEIGHTS_READ, Labels.EMPTY, weights.readBytes());
    to.add(Metric.HOST_WEIGHTS_EVICTIONS, Labels.EMPTY, weights.evictions());
  }
}

package dev.roundhouse.platform.metrics;

import dev.roundhouse.platform.metrics.Metric.Kind;
import dev.roundhouse.platform.metrics.Metric.Unit;
import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.CounterSnapshot.CounterDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Exemplars;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot.HistogramDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricMetadata;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import io.prometheus.metrics.model.snapshots.NativeHistogramBuckets;
import io.prometheus.metrics.model.snapshots.UnknownSnapshot;
import io.prometheus.metrics.model.snapshots.UnknownSnapshot.UnknownDataPointSnapshot;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * What one scrape shows of things that come and go by the thousand, such as models. Made anew for
 * each scrape, so that what is gone has no series, and nothing is kept for what there is. One
 * thread's.
 */
public final class Series {
  /** Classic bounds of times: 2^-14 s, 61 µs, to 2^4 s, 16 s. */
  private static final int SHORTEST_DOUBLING = -14;

  private static final int LONGEST_DOUBLING = 4;

  /** And of rows: 1 to 2^10. */
  private static final int MOST_ROWS_DOUBLING = 10;

  private final Map<Metric, List<CounterDataPointSnapshot>> counters = new EnumMap<>(Metric.class);
  private final Map<Metric, List<GaugeDataPointSnapshot>> gauges = new EnumMap<>(Metric.class);

  private final Map<Metric, List<UnknownDataPointSnapshot>> untyped = new EnumMap<>(Metric.class);
  private final Map<Metric, List<HistogramDataPointSnapshot>> histograms =
      new EnumMap<>(Metric.class);

  private Series() {}

  /**
   * Shows series at every scrape of a registry.
   *
   * @param source called by scraping threads, several at a time; what it throws fails the scrape
   */
  public static void show(PrometheusRegistry at, Consumer<Series> source) {
    at.register(
        (MultiCollector)
            () -> {
              Series series = new Series();
              source.accept(series);
              return series.snapshots();
            });
  }

  /** Labels for {@link #add}: names and values by turns. To be used again for other metrics. */
  public static Labels labels(String... namesAndValues) {
    return Labels.of(namesAndValues);
  }

  /**
   * Shows a number, once for the same labels.
   *
   * @param labels with the names of the metric's
   */
  public void add(Metric metric, Labels labels, double value) {
    checkLabels(metric, labels);
    switch (metric.kind()) {
      case COUNTER ->
          of(metric, counters).add(new CounterDataPointSnapshot(value, labels, null, 0));
      case GAUGE -> of(metric, gauges).add(new GaugeDataPointSnapshot(value, labels, null));
      case UNTYPED -> of(metric, untyped).add(new UnknownDataPointSnapshot(value, labels, null));
      case HISTOGRAM ->
          throw new IllegalArgumentException(metric + " is a histogram, not a number");
    }
  }

  /** Shows a whole number. */
  public void add(Metric metric, Labels labels, long value) {
    add(metric, labels, (double) value);
  }

  /**
   * Shows a histogram, once for the same labels: with classic buckets, one for each doubling, and
   * with native ones.
   *
   * @param labels with the names of the metric's
   */
  public void add(Metric metric, Labels labels, Buckets buckets) {
    add(metric, labels, buckets, Exemplars.EMPTY);
  }

  /**
   * Shows a histogram with requests that are among what it counts, which OpenMetrics' format and
   * Prometheus' protobuf have.
   */
  public void add(Metric metric, Labels labels, Buckets buckets, Exemplars exemplars) {
    checkLabels(metric, labels);
    if (metric.kind() != Kind.HISTOGRAM) {
      throw new IllegalArgumentException(metric + " is a number, not a histogram");
    }
    boolean times = metric.unit() == Unit.SECONDS;
    of(metric, histograms)
        .add(
            new HistogramDataPointSnapshot(
                buckets.classic(
                    times ? SHORTEST_DOUBLING : 0, times ? LONGEST_DOUBLING : MOST_ROWS_DOUBLING),
                Buckets.SCHEMA,
                0,
                0,
                buckets.nonZero(),
                NativeHistogramBuckets.EMPTY,
                buckets.sum(),
                labels,
                exemplars,
                0));
  }

  private static void checkLabels(Metric metric, Labels labels) {
    if (labels.size() != metric.labels().size()) {
      throw new IllegalArgumentException(
          "%s has the labels %s, and was given %s".formatted(metric, metric.labels(), labels));
    }
  }

  private static <T> List<T> of(Metric metric, Map<Metric, List<T>> all) {
    return all.computeIfAbsent(metric, each -> new ArrayList<>());
  }

  private MetricSnapshots snapshots() {
    List<MetricSnapshot> all = new ArrayList<>();
    counters.forEach((metric, points) -> all.add(new CounterSnapshot(metadata(metric), points)));
    gauges.forEach((metric, points) -> all.add(new GaugeSnapshot(metadata(metric), points)));
    untyped.forEach((metric, points) -> all.add(new UnknownSnapshot(metadata(metric), points)));
    histograms.forEach(
        (metric, points) -> all.add(new HistogramSnapshot(metadata(metric), points)));
    return new MetricSnapshots(all);
  }

  private static MetricMetadata metadata(Metric metric) {
    return new MetricMetadata(metric.base(), metric.help());
  }
}

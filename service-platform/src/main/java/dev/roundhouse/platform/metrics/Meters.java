package dev.roundhouse.platform.metrics;

import dev.roundhouse.platform.metrics.Metric.Kind;
import dev.roundhouse.platform.metrics.Metric.Unit;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.util.Locale;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/** Meters of {@link Metric}s: the only place that makes any. Thread-safe. */
public final class Meters {
  private final MeterRegistry registry;

  public Meters(MeterRegistry registry) {
    this.registry = registry;
  }

  /**
   * Has a number read at every scrape.
   *
   * @param of kept alive by others: of a counter, only weakly held here
   * @param labelValues in the order of {@link Metric#labels}
   */
  public <T> Meter read(Metric metric, T of, ToDoubleFunction<T> value, String... labelValues) {
    return switch (metric.kind()) {
      case COUNTER ->
          FunctionCounter.builder(name(metric), of, value)
              .description(metric.help())
              .baseUnit(unit(metric))
              .tags(tags(metric, labelValues))
              .register(registry);
      case GAUGE ->
          Gauge.builder(name(metric), of, value)
              .description(metric.help())
              .baseUnit(unit(metric))
              .tags(tags(metric, labelValues))
              .strongReference(true)
              .register(registry);
      case HISTOGRAM, UNTYPED -> throw notA(metric, "number that Micrometer reads");
    };
  }

  /** A counter to be counted up, the same for the same labels. */
  public Counter counter(Metric metric, String... labelValues) {
    if (metric.kind() != Kind.COUNTER) {
      throw notA(metric, "counter");
    }
    return Counter.builder(name(metric))
        .description(metric.help())
        .baseUnit(unit(metric))
        .tags(tags(metric, labelValues))
        .register(registry);
  }

  /** A histogram of times, the same for the same labels. */
  public Timer timer(Metric metric, String... labelValues) {
    if (metric.kind() != Kind.HISTOGRAM || metric.unit() != Unit.SECONDS) {
      throw notA(metric, "histogram of times");
    }
    return Timer.builder(name(metric))
        .description(metric.help())
        .tags(tags(metric, labelValues))
        .publishPercentileHistogram()
        .register(registry);
  }

  /** Ends a meter's series. */
  public void remove(Meter meter) {
    registry.remove(meter);
  }

  private static Tags tags(Metric metric, String... values) {
    if (values.length != metric.labels().size()) {
      throw new IllegalArgumentException(
          "%s has the labels %s, and was given %d values"
              .formatted(metric, metric.labels(), values.length));
    }
    Tags tags = Tags.empty();
    for (int i = 0; i < values.length; i++) {
      tags = tags.and(metric.labels().get(i), values[i]);
    }
    return tags;
  }

  /** Micrometer's form: dotted, and without what its Prometheus registry adds. */
  private static String name(Metric metric) {
    String base = metric.base();
    return base.substring(0, base.length() - metric.unit().suffix().length()).replace('_', '.');
  }

  private static @Nullable String unit(Metric metric) {
    return metric.unit() == Unit.NONE ? null : metric.unit().name().toLowerCase(Locale.ROOT);
  }

  private static IllegalArgumentException notA(Metric metric, String what) {
    return new IllegalArgumentException(
        "%s is a %s, not a %s".formatted(metric, metric.kind(), what));
  }
}

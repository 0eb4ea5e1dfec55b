package dev.roundhouse.gateway.lifecycle;

import dev.roundhouse.platform.metrics.Meters;
import dev.roundhouse.platform.metrics.Metric;
import io.micrometer.core.instrument.Meter;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.DoubleSupplier;

/**
 * Gauges of one name, whose labels come and go. Labels are registered once and removed when they
 * are gone, so that every scrape has each of the others exactly once: a scrape that meets a gauge
 * being replaced, as {@link io.micrometer.core.instrument.MultiGauge} does to change a value, may
 * have it twice or not at all. Thread-safe.
 */
final class GaugeRows {
  private final Meters meters;
  private final Metric metric;
  private final Map<List<String>, Meter> registered = new HashMap<>();
  private volatile Map<List<String>, DoubleSupplier> rows = Map.of();

  GaugeRows(Meters meters, Metric metric) {
    this.meters = meters;
    this.metric = metric;
  }

  /**
   * Replaces all rows.
   *
   * @param now values by the values of their labels, read at every scrape; not changed afterwards
   */
  synchronized void show(Map<List<String>, DoubleSupplier> now) {
    rows = now;
    now.keySet().forEach(labels -> registered.computeIfAbsent(labels, this::register));
    registered
        .entrySet()
        .removeIf(
            row -> {
              boolean gone = !now.containsKey(row.getKey());
              if (gone) {
                meters.remove(row.getValue());
              }
              return gone;
            });
  }

  private Meter register(List<String> labels) {
    return meters.read(metric, this, all -> all.value(labels), labels.toArray(String[]::new));
  }

  /** NaN for a row that is gone. */
  private double value(List<String> labels) {
    DoubleSupplier value = rows.get(labels);
    return value == null ? Double.NaN : value.getAsDouble();
  }
}

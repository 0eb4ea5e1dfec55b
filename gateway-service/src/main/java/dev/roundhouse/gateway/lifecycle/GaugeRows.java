package dev.roundhouse.gateway.lifecycle;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.util.HashMap;
import java.util.Map;
import java.util.function.DoubleSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Gauges of one name, whose labels come and go. Labels are registered once and removed when they
 * are gone, so that every scrape has each of the others exactly once: a scrape that meets a gauge
 * being replaced, as {@link io.micrometer.core.instrument.MultiGauge} does to change a value, may
 * have it twice or not at all. Thread-safe.
 */
final class GaugeRows {
  private final MeterRegistry meters;
  private final String name;
  private final @Nullable String unit;
  private final String description;
  private final Map<Tags, Meter> registered = new HashMap<>();
  private volatile Map<Tags, DoubleSupplier> rows = Map.of();

  GaugeRows(MeterRegistry meters, String name, @Nullable String unit, String description) {
    this.meters = meters;
    this.name = name;
    this.unit = unit;
    this.description = description;
  }

  /**
   * Replaces all rows.
   *
   * @param now values by label, read at every scrape; not changed afterwards
   */
  synchronized void show(Map<Tags, DoubleSupplier> now) {
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

  private Meter register(Tags labels) {
    return Gauge.builder(name, this, all -> all.value(labels))
        .tags(labels)
        .description(description)
        .baseUnit(unit)
        .register(meters);
  }

  /** NaN for a row that is gone. */
  private double value(Tags labels) {
    DoubleSupplier value = rows.get(labels);
    return value == null ? Double.NaN : value.getAsDouble();
  }
}

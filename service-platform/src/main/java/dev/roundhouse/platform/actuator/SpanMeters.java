package dev.roundhouse.platform.actuator;

import dev.roundhouse.platform.metrics.Meters;
import dev.roundhouse.platform.metrics.Metric;
import dev.roundhouse.platform.telemetry.SpanExport;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;

/** Shows what became of the spans of requests. */
public final class SpanMeters implements MeterBinder {
  private final SpanExport spans;

  public SpanMeters(SpanExport spans) {
    this.spans = spans;
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    Meters meters = new Meters(registry);
    meters.read(Metric.SPANS_EXPORTED, spans, SpanExport::exported);
    meters.read(Metric.SPANS_DROPPED, spans, SpanExport::dropped);
  }
}

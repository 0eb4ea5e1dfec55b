package dev.roundhouse.worker.actuator;

import dev.roundhouse.platform.metrics.Meters;
import dev.roundhouse.platform.metrics.Metric;
import dev.roundhouse.worker.trace.Tracing;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;

/** Shows what became of traces. */
public final class TraceMeters implements MeterBinder {
  private final Tracing tracing;

  public TraceMeters(Tracing tracing) {
    this.tracing = tracing;
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    Meters meters = new Meters(registry);
    meters.read(Metric.TRACES_WRITTEN, tracing, Tracing::written);
    meters.read(Metric.TRACES_DROPPED, tracing, Tracing::dropped);
  }
}

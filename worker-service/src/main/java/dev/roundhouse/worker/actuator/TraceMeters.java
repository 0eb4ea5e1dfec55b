package dev.roundhouse.worker.actuator;

import dev.roundhouse.worker.trace.Tracing;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;

/** Shows what became of traces. */
public final class TraceMeters implements MeterBinder {
  private final Tracing tracing;

  public TraceMeters(Tracing tracing) {
    this.tracing = tracing;
  }

  @Override
  public void bindTo(MeterRegistry meters) {
    FunctionCounter.builder("roundhouse.traces.written", tracing, Tracing::written)
        .description("Traces of requests that are in files")
        .register(meters);
    FunctionCounter.builder("roundhouse.traces.dropped", tracing, Tracing::dropped)
        .description("Traces that were lost: too many at once, or no file could take them")
        .register(meters);
  }
}

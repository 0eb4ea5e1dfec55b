package dev.roundhouse.worker.actuator;

import dev.roundhouse.worker.transport.ReceivingLoad;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;

/** Shows how near the worker's own HTTP server is to what it allows. */
public final class HttpMeters implements MeterBinder {
  private final ReceivingLoad load;
  private final int maxConnections;

  /**
   * @param maxConnections further ones wait
   */
  public HttpMeters(ReceivingLoad load, int maxConnections) {
    this.load = load;
    this.maxConnections = maxConnections;
  }

  @Override
  public void bindTo(MeterRegistry meters) {
    Gauge.builder("roundhouse.http.connections.open", load, ReceivingLoad::connections)
        .description("HTTP connections, those in their handshake included")
        .register(meters);
    Gauge.builder("roundhouse.http.connections.limit", this, each -> each.maxConnections)
        .description("HTTP connections that there may be; further ones wait to be accepted")
        .register(meters);
    Gauge.builder("roundhouse.http.infer.open", load, ReceivingLoad::calls)
        .description("Inference requests over HTTP that have begun to arrive and are not answered")
        .register(meters);
    FunctionCounter.builder("roundhouse.http.stalled", load, ReceivingLoad::stalledEver)
        .description(
            "HTTP requests and connections that were ended because their client stopped sending or reading")
        .register(meters);
    Gauge.builder("roundhouse.http.receiving", load, ReceivingLoad::receivingBytes)
        .description("Inference requests over HTTP that are arriving, as far as they have memory")
        .baseUnit("bytes")
        .register(meters);
  }
}

package dev.roundhouse.worker.actuator;

import dev.roundhouse.platform.grpc.PortLoad;
import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.transport.memory.PeerMemory;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;

/** Shows how near the HTTP server is to what it allows. */
public final class HttpMeters implements MeterBinder {
  private final PortLoad load;
  private final PeerMemory memory;
  private final int maxConnections;

  /**
   * @param maxConnections for more, those that are idle are closed
   */
  public HttpMeters(PortLoad load, PeerMemory memory, int maxConnections) {
    this.load = load;
    this.memory = memory;
    this.maxConnections = maxConnections;
  }

  private static long receiving(PeerMemory memory) {
    return memory.held(Kept.BODY);
  }

  @Override
  public void bindTo(MeterRegistry meters) {
    Gauge.builder("roundhouse.http.connections.open", load, PortLoad::connections)
        .description("HTTP connections, those in their handshake included")
        .register(meters);
    Gauge.builder("roundhouse.http.connections.limit", this, each -> each.maxConnections)
        .description(
            "HTTP connections that there may be; for further ones those that are idle are closed")
        .register(meters);
    Gauge.builder("roundhouse.http.infer.open", load, PortLoad::calls)
        .description("Requests over HTTP that have begun to arrive and are not answered")
        .register(meters);
    FunctionCounter.builder("roundhouse.http.stalled", load, PortLoad::stalledEver)
        .description(
            "HTTP requests and connections that were ended because their client stopped sending or reading")
        .register(meters);
    Gauge.builder("roundhouse.http.receiving", memory, HttpMeters::receiving)
        .description(
            "Inference requests over HTTP until the engine has taken them, as far as they have memory")
        .baseUnit("bytes")
        .register(meters);
  }
}

package dev.roundhouse.worker.actuator;

import dev.roundhouse.platform.grpc.PortLoad;
import dev.roundhouse.platform.metrics.Meters;
import dev.roundhouse.platform.metrics.Metric;
import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.transport.memory.PeerMemory;
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
  public void bindTo(MeterRegistry registry) {
    Meters meters = new Meters(registry);
    meters.read(Metric.HTTP_CONNECTIONS_OPEN, load, PortLoad::connections);
    meters.read(Metric.HTTP_CONNECTIONS_LIMIT, this, each -> each.maxConnections);
    meters.read(Metric.HTTP_INFER_OPEN, load, PortLoad::calls);
    meters.read(Metric.HTTP_STALLED, load, PortLoad::stalledEver);
    meters.read(Metric.HTTP_RECEIVING, memory, HttpMeters::receiving);
  }
}

package dev.roundhouse.worker.actuator;

import dev.roundhouse.platform.grpc.PortLoad;
import dev.roundhouse.platform.metrics.Meters;
import dev.roundhouse.platform.metrics.Metric;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;

/** Shows how near a port of v1's own is to what it allows: its limits are its own too. */
public final class V1PortMeters implements MeterBinder {
  private final String transport;
  private final PortLoad load;
  private final int maxConnections;

  /**
   * @param transport its name
   */
  public V1PortMeters(String transport, PortLoad load, int maxConnections) {
    this.transport = transport;
    this.load = load;
    this.maxConnections = maxConnections;
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    Meters meters = new Meters(registry);
    meters.read(Metric.V1_CONNECTIONS_OPEN, load, PortLoad::connections, transport);
    meters.read(Metric.V1_CONNECTIONS_LIMIT, this, each -> each.maxConnections, transport);
    meters.read(Metric.V1_CALLS_OPEN, load, PortLoad::calls, transport);
    meters.read(Metric.V1_STALLED, load, PortLoad::stalledEver, transport);
    meters.read(Metric.V1_OTHER_PROTOCOL, load, PortLoad::otherProtocolEver, transport);
  }
}

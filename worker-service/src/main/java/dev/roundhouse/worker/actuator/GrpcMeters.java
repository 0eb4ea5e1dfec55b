package dev.roundhouse.worker.actuator;

import dev.roundhouse.platform.grpc.PortLoad;
import dev.roundhouse.platform.metrics.Meters;
import dev.roundhouse.platform.metrics.Metric;
import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.transport.memory.PeerMemory;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;

/** Shows how near the gRPC server is to what it allows; requests that wait, the engine tells. */
public final class GrpcMeters implements MeterBinder {
  private final PortLoad load;
  private final PeerMemory memory;
  private final int maxConnections;
  private final long maxCalls;

  /**
   * @param maxConnections further ones are closed
   * @param maxCalls further ones are refused
   */
  public GrpcMeters(PortLoad load, PeerMemory memory, int maxConnections, long maxCalls) {
    this.load = load;
    this.memory = memory;
    this.maxConnections = maxConnections;
    this.maxCalls = maxCalls;
  }

  private static long receiving(PeerMemory memory) {
    return memory.held(Kept.MESSAGE) + memory.held(Kept.INFLATED);
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    Meters meters = new Meters(registry);
    meters.read(Metric.GRPC_CONNECTIONS_OPEN, load, PortLoad::connections);
    meters.read(Metric.GRPC_CONNECTIONS_LIMIT, this, each -> each.maxConnections);
    meters.read(Metric.GRPC_CALLS_OPEN, load, PortLoad::calls);
    meters.read(Metric.GRPC_CALLS_LIMIT, this, each -> each.maxCalls);
    meters.read(Metric.GRPC_STALLED, load, PortLoad::stalledEver);
    meters.read(Metric.GRPC_OTHER_PROTOCOL, load, PortLoad::otherProtocolEver);
    meters.read(Metric.GRPC_RECEIVING, memory, GrpcMeters::receiving);
  }
}

package dev.roundhouse.worker.actuator;

import dev.roundhouse.platform.grpc.PortLoad;
import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.transport.memory.PeerMemory;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
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
  public void bindTo(MeterRegistry meters) {
    Gauge.builder("roundhouse.grpc.connections.open", load, PortLoad::connections)
        .description("gRPC connections, those in their handshake included")
        .register(meters);
    Gauge.builder("roundhouse.grpc.connections.limit", this, each -> each.maxConnections)
        .description("gRPC connections that there may be; further ones are closed")
        .register(meters);
    Gauge.builder("roundhouse.grpc.calls.open", load, PortLoad::calls)
        .description("gRPC calls that have not ended, of any method; a stream is one")
        .register(meters);
    Gauge.builder("roundhouse.grpc.calls.limit", this, each -> each.maxCalls)
        .description("gRPC calls that there may be; further ones are refused")
        .register(meters);
    FunctionCounter.builder("roundhouse.grpc.stalled", load, PortLoad::stalledEver)
        .description(
            "gRPC calls and connections that were ended because their client stopped sending or reading")
        .register(meters);
    FunctionCounter.builder("roundhouse.grpc.other.protocol", load, PortLoad::otherProtocolEver)
        .description(
            "connections to the gRPC port that were ended because their client did not speak HTTP/2")
        .register(meters);
    Gauge.builder("roundhouse.grpc.receiving", memory, GrpcMeters::receiving)
        .description("gRPC messages that are arriving, as far as they are counted one by one")
        .baseUnit("bytes")
        .register(meters);
  }
}

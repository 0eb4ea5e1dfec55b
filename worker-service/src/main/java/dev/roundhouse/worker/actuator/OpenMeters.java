package dev.roundhouse.worker.actuator;

import dev.roundhouse.platform.metrics.Meters;
import dev.roundhouse.platform.metrics.Metric;
import dev.roundhouse.worker.transport.grpc.InferCalls;
import dev.roundhouse.worker.transport.shm.ClientRegions;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;

/** Shows what clients keep open across requests: streams, and regions of shared memory. */
public final class OpenMeters implements MeterBinder {
  private static final String SYSTEM = "system";
  private static final String CUDA = "cuda";

  private final InferCalls calls;
  private final ClientRegions regions;

  public OpenMeters(InferCalls calls, ClientRegions regions) {
    this.calls = calls;
    this.regions = regions;
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    Meters meters = new Meters(registry);
    meters.read(Metric.GRPC_STREAMS_OPEN, calls, InferCalls::openStreams);
    meters.read(Metric.SHARED_MEMORY_REGIONS, regions, each -> each.heldSystem().regions(), SYSTEM);
    meters.read(Metric.SHARED_MEMORY_REGIONS, regions, each -> each.heldCuda().regions(), CUDA);
    meters.read(Metric.SHARED_MEMORY, regions, each -> each.heldSystem().bytes(), SYSTEM);
    meters.read(Metric.SHARED_MEMORY, regions, each -> each.heldCuda().bytes(), CUDA);
    meters.read(Metric.SHARED_MEMORY_LIMIT, regions, ClientRegions::most);
  }
}

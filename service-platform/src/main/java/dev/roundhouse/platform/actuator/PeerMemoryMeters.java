package dev.roundhouse.platform.actuator;

import static dev.roundhouse.platform.metrics.Metric.PEER_MEMORY;
import static dev.roundhouse.platform.metrics.Metric.PEER_MEMORY_HELD;
import static dev.roundhouse.platform.metrics.Metric.PEER_MEMORY_LIMIT;
import static dev.roundhouse.platform.metrics.Metric.PEER_MEMORY_REFUSED;
import static dev.roundhouse.platform.metrics.Metric.PEER_MEMORY_RELIEVED;

import dev.roundhouse.platform.metrics.Meters;
import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.transport.memory.PeerMemory;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;

/** Shows what peers make the application keep, by kind, and how near that is to what it allows. */
public final class PeerMemoryMeters implements MeterBinder {
  private final PeerMemory memory;

  public PeerMemoryMeters(PeerMemory memory) {
    this.memory = memory;
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    Meters meters = new Meters(registry);
    for (Kept kind : Kept.values()) {
      meters.read(PEER_MEMORY, memory, each -> each.held(kind), kind.label());
      meters.read(PEER_MEMORY_REFUSED, memory, each -> each.refusedEver(kind), kind.label());
    }
    meters.read(PEER_MEMORY_HELD, memory, PeerMemory::held);
    meters.read(PEER_MEMORY_LIMIT, memory, PeerMemory::limit);
    meters.read(PEER_MEMORY_RELIEVED, memory, PeerMemory::relievedEver);
  }
}

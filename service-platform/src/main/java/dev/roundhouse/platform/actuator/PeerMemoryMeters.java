package dev.roundhouse.platform.actuator;

import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.transport.memory.PeerMemory;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;

/** Shows what peers make the application keep, by kind, and how near that is to what it allows. */
public final class PeerMemoryMeters implements MeterBinder {
  private final PeerMemory memory;

  public PeerMemoryMeters(PeerMemory memory) {
    this.memory = memory;
  }

  @Override
  public void bindTo(MeterRegistry meters) {
    for (Kept kind : Kept.values()) {
      Gauge.builder("roundhouse.peer.memory", memory, each -> each.held(kind))
          .tag("kind", kind.label())
          .description("Memory that connections make the server keep, by what it is kept for")
          .baseUnit("bytes")
          .register(meters);
      FunctionCounter.builder("roundhouse.peer.memory.refused", memory, m -> m.refusedEver(kind))
          .tag("kind", kind.label())
          .description("Connections, calls and messages for which there was no memory")
          .register(meters);
    }
    Gauge.builder("roundhouse.peer.memory.held", memory, PeerMemory::held)
        .description("Memory that peers hold altogether, requests that wait or run included")
        .baseUnit("bytes")
        .register(meters);
    Gauge.builder("roundhouse.peer.memory.limit", memory, PeerMemory::limit)
        .description("Memory that peers may hold altogether")
        .baseUnit("bytes")
        .register(meters);
    FunctionCounter.builder("roundhouse.peer.memory.relieved", memory, PeerMemory::relievedEver)
        .description(
            "How often a connection that held much was asked to end what does not get on, because others were refused")
        .register(meters);
  }
}

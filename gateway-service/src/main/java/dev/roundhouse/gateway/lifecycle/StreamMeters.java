package dev.roundhouse.gateway.lifecycle;

import dev.roundhouse.gateway.stream.StreamCounts;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.platform.metrics.Meters;
import dev.roundhouse.platform.metrics.Metric;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.Locale;

/** Shows what passes in tensor streams. */
public final class StreamMeters implements MeterBinder {
  private final StreamCounts counts;

  public StreamMeters(StreamCounts counts) {
    this.counts = counts;
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    Meters meters = new Meters(registry);
    meters.read(Metric.GATEWAY_STREAM_CONNECTIONS_OPEN, counts, StreamCounts::connections);
    meters.read(Metric.GATEWAY_STREAMS_OPEN, counts, StreamCounts::open);
    meters.read(Metric.GATEWAY_STREAM_BYTES, counts, StreamCounts::fromClients, "in");
    meters.read(Metric.GATEWAY_STREAM_BYTES, counts, StreamCounts::fromWorkers, "out");
    for (HelloStatus status : HelloStatus.values()) {
      if (status != HelloStatus.OK) {
        meters.read(
            Metric.GATEWAY_STREAM_HELLOS_REFUSED,
            counts,
            each -> each.refusedEver(status),
            label(status));
      }
    }
    for (StreamCounts.End how : StreamCounts.End.values()) {
      meters.read(Metric.GATEWAY_STREAM_ENDED, counts, each -> each.endedEver(how), label(how));
    }
  }

  private static String label(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }
}

package dev.roundhouse.worker.actuator;

import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.platform.metrics.Meters;
import dev.roundhouse.platform.metrics.Metric;
import dev.roundhouse.worker.transport.tstream.StreamLoad;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.Locale;

/** Shows what tensor streams do. */
public final class StreamMeters implements MeterBinder {
  private final StreamLoad load;

  public StreamMeters(StreamLoad load) {
    this.load = load;
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    Meters meters = new Meters(registry);
    meters.read(Metric.STREAM_CONNECTIONS_OPEN, load, StreamLoad::connections);
    meters.read(Metric.STREAM_MESSAGES, load, StreamLoad::takenEver);
    meters.read(Metric.STREAM_MESSAGES_OPEN, load, StreamLoad::open);
    meters.read(Metric.STREAM_REQUESTS, load, StreamLoad::requestsEver);
    for (HelloStatus status : HelloStatus.values()) {
      if (status != HelloStatus.OK) {
        meters.read(
            Metric.STREAM_HELLOS_REFUSED, load, each -> each.refusedEver(status), label(status));
      }
    }
    for (StreamLoad.End why : StreamLoad.End.values()) {
      meters.read(Metric.STREAM_ENDED, load, each -> each.endedEver(why), label(why));
    }
  }

  private static String label(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }
}

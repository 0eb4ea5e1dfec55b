package dev.roundhouse.worker.actuator;

import dev.roundhouse.platform.metrics.Meters;
import dev.roundhouse.platform.metrics.Metric;
import dev.roundhouse.worker.transport.added.AddedTransport;
import dev.roundhouse.worker.transport.added.AddedTransports;
import dev.roundhouse.worker.transport.added.TransportCounts;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.concurrent.atomic.LongAdder;

/** Shows what added transports do, and what they count themselves. */
public final class TransportMeterBinder implements MeterBinder {
  private final AddedTransports added;

  public TransportMeterBinder(AddedTransports added) {
    this.added = added;
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    Meters meters = new Meters(registry);
    for (AddedTransport transport : added.all()) {
      TransportCounts counts = transport.counts();
      String name = transport.name();
      meters.read(Metric.TRANSPORT_CONNECTIONS_OPEN, counts, TransportCounts::connections, name);
      meters.read(Metric.TRANSPORT_REQUESTS, counts, TransportCounts::requestsEver, name);
      meters.read(Metric.TRANSPORT_REQUESTS_OPEN, counts, TransportCounts::open, name);
      counts
          .events()
          .forEach(
              (event, adder) ->
                  meters.read(Metric.TRANSPORT_EVENTS, adder, LongAdder::sum, name, event));
      counts
          .levels()
          .forEach(
              (level, value) ->
                  meters.read(
                      Metric.TRANSPORT_LEVEL,
                      value,
                      each -> (double) each.getAsLong(),
                      name,
                      level));
    }
  }
}

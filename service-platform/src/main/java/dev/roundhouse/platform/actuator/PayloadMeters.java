package dev.roundhouse.platform.actuator;

import dev.roundhouse.platform.metrics.Meters;
import dev.roundhouse.platform.metrics.Metric;
import dev.roundhouse.platform.payload.PayloadLog;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;

/** Shows what became of the copies of requests and answers for a collector. */
public final class PayloadMeters implements MeterBinder {
  private final PayloadLog payloads;

  public PayloadMeters(PayloadLog payloads) {
    this.payloads = payloads;
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    Meters meters = new Meters(registry);
    meters.read(Metric.PAYLOADS_SENT, payloads, PayloadLog::sent);
    meters.read(Metric.PAYLOADS_RETRIED, payloads, PayloadLog::retried);
    meters.read(Metric.PAYLOADS_WAITING, payloads, PayloadLog::waitingBytes);
    for (PayloadLog.Drop why : PayloadLog.Drop.values()) {
      meters.read(
          Metric.PAYLOADS_DROPPED, payloads, each -> each.dropped(why), PayloadLog.label(why));
    }
  }
}

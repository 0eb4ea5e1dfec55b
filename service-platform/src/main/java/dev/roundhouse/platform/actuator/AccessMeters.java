package dev.roundhouse.platform.actuator;

import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.metrics.Meters;
import dev.roundhouse.platform.metrics.Metric;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.Locale;

/** Shows how many callers were refused. */
public final class AccessMeters implements MeterBinder {
  private final Access access;

  public AccessMeters(Access access) {
    this.access = access;
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    Meters meters = new Meters(registry);
    for (Access.Reason reason : Access.Reason.values()) {
      meters.read(
          Metric.ACCESS_REFUSED,
          access,
          from -> from.refused(reason),
          reason.name().toLowerCase(Locale.ROOT));
    }
  }
}

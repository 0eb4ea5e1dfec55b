package dev.roundhouse.gateway.lifecycle;

import dev.roundhouse.gateway.fleet.WorkerLook;
import dev.roundhouse.gateway.fleet.Workers;
import java.util.Map;
import java.util.TreeMap;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;

/** Health {@code workers}: out of service while none takes requests, or the gateway stops. */
public final class WorkersHealth extends AbstractHealthIndicator {
  private final Workers workers;
  private final GatewayReadiness readiness;

  public WorkersHealth(Workers workers, GatewayReadiness readiness) {
    this.workers = workers;
    this.readiness = readiness;
  }

  @Override
  protected void doHealthCheck(Health.Builder health) {
    Map<String, String> states = new TreeMap<>();
    for (WorkerLook look : workers.all()) {
      states.put(
          look.link().name(),
          look.ready() ? "ready" : look.failure().isEmpty() ? "not ready" : look.failure());
    }
    if (readiness.isReady()) {
      health.up();
    } else {
      health.outOfService();
    }
    health.withDetail("workers", states).withDetail("stopping", readiness.isStopping());
  }
}

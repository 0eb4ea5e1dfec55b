package dev.roundhouse.gateway.lifecycle;

import dev.roundhouse.gateway.fleet.WorkerLook;
import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.gateway.route.Ejection;
import dev.roundhouse.gateway.route.EjectionReport;
import java.util.Map;
import java.util.TreeMap;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;

/** Health {@code workers}: out of service while none takes requests, or the gateway stops. */
public final class WorkersHealth extends AbstractHealthIndicator {
  private final Workers workers;
  private final GatewayReadiness readiness;
  private final Ejection ejection;

  public WorkersHealth(Workers workers, GatewayReadiness readiness, Ejection ejection) {
    this.workers = workers;
    this.readiness = readiness;
    this.ejection = ejection;
  }

  @Override
  protected void doHealthCheck(Health.Builder health) {
    Map<String, String> states = new TreeMap<>();
    for (WorkerLook look : workers.all()) {
      String name = look.link().name();
      states.put(name, state(look) + ejected(ejection.report(name)));
    }
    if (readiness.isReady()) {
      health.up();
    } else {
      health.outOfService();
    }
    health.withDetail("workers", states).withDetail("stopping", readiness.isStopping());
  }

  private static String state(WorkerLook look) {
    return look.ready() ? "ready" : look.failure().isEmpty() ? "not ready" : look.failure();
  }

  private static String ejected(EjectionReport report) {
    EjectionReport.Last last = report.last();
    return last == null || !report.ejected()
        ? ""
        : "; left alone until %s: %s".formatted(last.untilText(), last.words());
  }
}

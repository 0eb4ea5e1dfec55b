package dev.roundhouse.node.actuator;

import dev.roundhouse.node.lifecycle.NodeLifecycle;
import dev.roundhouse.node.process.ProcessStatus;
import dev.roundhouse.node.process.Supervisor;
import java.util.LinkedHashMap;
import java.util.Map;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;

/** Health {@code node}: out of service unless the gateway, or the only worker, is ready. */
public final class NodeHealth extends AbstractHealthIndicator {
  private final Supervisor supervisor;
  private final NodeLifecycle lifecycle;

  public NodeHealth(Supervisor supervisor, NodeLifecycle lifecycle) {
    this.supervisor = supervisor;
    this.lifecycle = lifecycle;
  }

  @Override
  protected void doHealthCheck(Health.Builder health) {
    if (lifecycle.isReady()) {
      health.up();
    } else {
      health.outOfService();
    }
    Map<String, String> states = new LinkedHashMap<>();
    for (ProcessStatus status : supervisor.statuses()) {
      states.put(status.name(), lifecycle.isReady(status.name()) ? "READY" : status.state().name());
    }
    health.withDetail("processes", states);
  }
}

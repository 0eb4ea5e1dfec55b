package dev.roundhouse.node.actuator;

import dev.roundhouse.node.actuator.NodeDetails.DeviceDetails;
import dev.roundhouse.node.actuator.NodeDetails.Devices;
import dev.roundhouse.node.actuator.NodeDetails.ProcessDetails;
import dev.roundhouse.node.devices.DeviceMemory;
import dev.roundhouse.node.devices.DeviceMonitor;
import dev.roundhouse.node.lifecycle.NodeLifecycle;
import dev.roundhouse.node.plan.NodePlan;
import dev.roundhouse.node.plan.WorkerPlan;
import dev.roundhouse.node.process.ProcessStatus;
import dev.roundhouse.node.process.Supervisor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;

/** {@code /actuator/node}: processes and devices. */
@Endpoint(id = "node")
public final class NodeEndpoint {
  private final NodePlan plan;
  private final Supervisor supervisor;
  private final DeviceMonitor monitor;
  private final NodeLifecycle lifecycle;
  private final int maxRestarts;

  public NodeEndpoint(
      NodePlan plan,
      Supervisor supervisor,
      DeviceMonitor monitor,
      NodeLifecycle lifecycle,
      int maxRestarts) {
    this.plan = plan;
    this.supervisor = supervisor;
    this.monitor = monitor;
    this.lifecycle = lifecycle;
    this.maxRestarts = maxRestarts;
  }

  @ReadOperation
  public NodeDetails node() {
    return new NodeDetails(
        lifecycle.isReady(),
        new Devices(plan.devices().onCpu() ? "cpu" : "cuda", plan.devices().source(), devices()),
        supervisor.statuses().stream().map(this::process).toList(),
        maxRestarts);
  }

  private List<DeviceDetails> devices() {
    Map<String, DeviceMemory> memory = monitor.latest().memory();
    List<DeviceDetails> devices = new ArrayList<>();
    for (WorkerPlan worker : plan.workers()) {
      worker
          .device()
          .ifPresent(
              id -> {
                DeviceMemory each = memory.get(id);
                devices.add(
                    new DeviceDetails(
                        id,
                        worker.name(),
                        each == null ? null : (Long) each.usedBytes(),
                        each == null ? null : (Long) each.totalBytes()));
              });
    }
    return devices;
  }

  private ProcessDetails process(ProcessStatus status) {
    Optional<WorkerPlan> worker =
        plan.workers().stream().filter(each -> each.name().equals(status.name())).findFirst();
    return new ProcessDetails(
        status.name(),
        status.state(),
        lifecycle.isReady(status.name()),
        status.pid(),
        (System.nanoTime() - status.sinceNanos()) / 1e9,
        status.starts(),
        status.restarts(),
        status.endsInARow(),
        status.delaySeconds(),
        status.lastExit(),
        worker.flatMap(WorkerPlan::device).orElse(null),
        worker.map(WorkerPlan::ports).or(() -> plan.ports().open()).orElseThrow());
  }
}

package dev.roundhouse.node.actuator;

import static dev.roundhouse.platform.metrics.Metric.NODE_DEVICE_MEMORY_TOTAL;
import static dev.roundhouse.platform.metrics.Metric.NODE_DEVICE_MEMORY_USED;
import static dev.roundhouse.platform.metrics.Metric.NODE_PROCESS_BACKOFF;
import static dev.roundhouse.platform.metrics.Metric.NODE_PROCESS_READY;
import static dev.roundhouse.platform.metrics.Metric.NODE_PROCESS_RESTARTS;
import static dev.roundhouse.platform.metrics.Metric.NODE_PROCESS_UP;
import static dev.roundhouse.platform.metrics.Metric.NODE_READY;

import dev.roundhouse.node.devices.DeviceMemory;
import dev.roundhouse.node.devices.DeviceMonitor;
import dev.roundhouse.node.lifecycle.NodeLifecycle;
import dev.roundhouse.node.process.ProcessState;
import dev.roundhouse.node.process.ProcessStatus;
import dev.roundhouse.node.process.Supervisor;
import dev.roundhouse.platform.metrics.Meters;
import dev.roundhouse.platform.metrics.Metric;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.function.ToDoubleFunction;

/** Metrics of processes and devices. A scrape reads snapshots only. */
public final class NodeMeters implements MeterBinder {
  private final Supervisor supervisor;
  private final DeviceMonitor monitor;
  private final NodeLifecycle lifecycle;

  public NodeMeters(Supervisor supervisor, DeviceMonitor monitor, NodeLifecycle lifecycle) {
    this.supervisor = supervisor;
    this.monitor = monitor;
    this.lifecycle = lifecycle;
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    Meters meters = new Meters(registry);
    meters.read(NODE_READY, lifecycle, each -> each.isReady() ? 1 : 0);
    for (ProcessStatus status : supervisor.statuses()) {
      process(status.name(), meters);
    }
    for (String id : monitor.ids()) {
      memory(NODE_DEVICE_MEMORY_USED, id, DeviceMemory::usedBytes, meters);
      memory(NODE_DEVICE_MEMORY_TOTAL, id, DeviceMemory::totalBytes, meters);
    }
  }

  private void process(String name, Meters meters) {
    meters.read(
        NODE_PROCESS_UP,
        supervisor,
        each -> status(each, name).state() == ProcessState.RUNNING ? 1 : 0,
        name);
    meters.read(NODE_PROCESS_BACKOFF, supervisor, each -> status(each, name).delaySeconds(), name);
    meters.read(NODE_PROCESS_READY, lifecycle, each -> each.isReady(name) ? 1 : 0, name);
    meters.read(NODE_PROCESS_RESTARTS, supervisor, each -> status(each, name).restarts(), name);
  }

  private static ProcessStatus status(Supervisor supervisor, String name) {
    return supervisor.statuses().stream()
        .filter(each -> each.name().equals(name))
        .findFirst()
        .orElseThrow();
  }

  private void memory(
      Metric metric, String id, ToDoubleFunction<DeviceMemory> value, Meters meters) {
    meters.read(
        metric,
        monitor,
        each -> {
          DeviceMemory memory = each.latest().memory().get(id);
          return memory == null ? Double.NaN : value.applyAsDouble(memory);
        },
        id);
  }
}

package dev.roundhouse.node.actuator;

import dev.roundhouse.node.devices.DeviceMemory;
import dev.roundhouse.node.devices.DeviceMonitor;
import dev.roundhouse.node.lifecycle.NodeLifecycle;
import dev.roundhouse.node.process.ProcessState;
import dev.roundhouse.node.process.ProcessStatus;
import dev.roundhouse.node.process.Supervisor;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
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
  public void bindTo(MeterRegistry meters) {
    Gauge.builder("roundhouse.node.ready", () -> lifecycle.isReady() ? 1 : 0)
        .description("Whether the gateway is ready, or where there is none every worker")
        .register(meters);
    for (ProcessStatus status : supervisor.statuses()) {
      process(status.name(), meters);
    }
    for (String id : monitor.ids()) {
      memory("used", "Memory of the device that is in use", id, DeviceMemory::usedBytes, meters);
      memory("total", "Memory of the device", id, DeviceMemory::totalBytes, meters);
    }
  }

  private void process(String name, MeterRegistry meters) {
    gauge(
        "up",
        "Whether the process runs",
        name,
        status -> status.state() == ProcessState.RUNNING ? 1 : 0,
        meters);
    gauge(
        "backoff.seconds",
        "Time from its last end to its next start; 0 unless it waits for that",
        name,
        ProcessStatus::delaySeconds,
        meters);
    Gauge.builder("roundhouse.node.process.ready", () -> lifecycle.isReady(name) ? 1 : 0)
        .description("Whether the process says that it is ready")
        .tag("process", name)
        .register(meters);
    FunctionCounter.builder(
            "roundhouse.node.process.restarts", supervisor, of -> status(name).restarts())
        .description("Starts beyond the first")
        .tag("process", name)
        .register(meters);
  }

  private void gauge(
      String what,
      String description,
      String name,
      ToDoubleFunction<ProcessStatus> value,
      MeterRegistry meters) {
    Gauge.builder("roundhouse.node.process." + what, () -> value.applyAsDouble(status(name)))
        .description(description)
        .tag("process", name)
        .register(meters);
  }

  private ProcessStatus status(String name) {
    return supervisor.statuses().stream()
        .filter(each -> each.name().equals(name))
        .findFirst()
        .orElseThrow();
  }

  private void memory(
      String what,
      String description,
      String id,
      ToDoubleFunction<DeviceMemory> value,
      MeterRegistry meters) {
    Gauge.builder(
            "roundhouse.node.device.memory." + what,
            () -> {
              DeviceMemory memory = monitor.latest().memory().get(id);
              return memory == null ? Double.NaN : value.applyAsDouble(memory);
            })
        .description(description)
        .baseUnit("bytes")
        .tag("device", id)
        .register(meters);
  }
}

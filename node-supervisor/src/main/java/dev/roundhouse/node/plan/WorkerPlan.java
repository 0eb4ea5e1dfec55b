package dev.roundhouse.node.plan;

import dev.roundhouse.node.config.WorkerProcessProperties;
import dev.roundhouse.node.devices.Found;
import dev.roundhouse.node.process.ProcessSpec;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.platform.process.Supervised;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * How one worker is started, the first time and after each end.
 *
 * @param name unique
 * @param device its GPU; empty for the CPU
 * @param cpuThreads its share of the processors: threads for what XLA computes on them; 0 where it
 *     has all of them
 * @param count of the node's workers, this one among them
 * @param ports where it listens
 */
public record WorkerPlan(
    String name, Optional<String> device, int cpuThreads, int count, Ports ports) {
  private static final String PROCESSOR_COUNT = "-XX:ActiveProcessorCount=";

  /** With one processor the JVM assumes a client machine and chooses another collector. */
  private static final int LEAST_PROCESSORS = 2;

  private static final String DRAIN = "roundhouse.worker.shutdown.drain";

  /**
   * @param address where it listens; empty for everywhere
   * @throws StartRefusedException when its jar is not there, or it would be killed while it drains
   */
  ProcessSpec spec(
      WorkerProcessProperties settings,
      Found devices,
      PassedOn passed,
      String jar,
      String address) {
    CommandLine command =
        new CommandLine(settings.command(), jvmOptions(settings), jar, "roundhouse.node.worker.jar")
            .setAll(passed.worker())
            .logAs(name, passed.structuredLogs())
            .add(settings.arguments())
            .listen(ports, address);
    passed
        .drain()
        .within(settings.stopGrace(), "worker")
        .ifPresent(drain -> command.set(DRAIN, drain));
    if (device.isPresent() && !passed.decided().contains(PassedOn.PLATFORM)) {
      command.set(PassedOn.PLATFORM, "cuda");
    }
    if (device.isEmpty() && cpuThreads > 0 && !passed.decided().contains(PassedOn.CPU_THREADS)) {
      command.set(PassedOn.CPU_THREADS, cpuThreads);
    }
    return new ProcessSpec(command.build(), environment(settings, devices));
  }

  /**
   * Event loops, compiler and collector are sized by the number of processors, so each worker would
   * take all of them.
   */
  private List<String> jvmOptions(WorkerProcessProperties settings) {
    List<String> options = new ArrayList<>();
    if (dividesProcessors(settings)) {
      options.add(PROCESSOR_COUNT + processors());
    }
    options.addAll(settings.jvmOptions());
    return options;
  }

  private boolean dividesProcessors(WorkerProcessProperties settings) {
    String variable = System.getenv("JDK_JAVA_OPTIONS");
    return cpuThreads > 0
        && settings.jvmOptions().stream().noneMatch(option -> option.startsWith(PROCESSOR_COUNT))
        && (variable == null || !variable.contains(PROCESSOR_COUNT));
  }

  private int processors() {
    return Math.max(LEAST_PROCESSORS, cpuThreads);
  }

  private Map<String, String> environment(WorkerProcessProperties settings, Found devices) {
    Map<String, String> environment = new LinkedHashMap<>();
    environment.put("CUDA_VISIBLE_DEVICES", device.orElse(""));
    if (device.isPresent() && devices.numbered() && System.getenv("CUDA_DEVICE_ORDER") == null) {
      environment.put("CUDA_DEVICE_ORDER", "PCI_BUS_ID"); // as NVML and nvidia-smi count
    }
    environment.put(NodePlan.MEMORY_WORKERS, String.valueOf(count));
    if (dividesProcessors(settings)) {
      environment.put(NodePlan.PROCESSORS, String.valueOf(processors()));
    }
    environment.put(Supervised.VARIABLE, String.valueOf(settings.stopGrace().toSeconds()));
    return environment;
  }
}

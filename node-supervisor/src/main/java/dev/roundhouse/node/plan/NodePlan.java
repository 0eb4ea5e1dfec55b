package dev.roundhouse.node.plan;

import dev.roundhouse.node.config.GatewayProcessProperties;
import dev.roundhouse.node.config.NodeProperties;
import dev.roundhouse.node.config.Role;
import dev.roundhouse.node.config.WorkerProcessProperties;
import dev.roundhouse.node.devices.DeviceMonitor;
import dev.roundhouse.node.devices.Found;
import dev.roundhouse.node.process.MemoryGate;
import dev.roundhouse.node.process.ProcessPlan;
import dev.roundhouse.node.process.ProcessSpec;
import dev.roundhouse.node.process.StartGate;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.platform.operators.OperatorsPort;
import dev.roundhouse.platform.process.Supervised;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Everything that is to run on this machine.
 *
 * @param devices what workers run on
 * @param ports of all
 * @param workers in order; none where only a gateway runs
 * @param processes workers, then the gateway if there is one
 */
public record NodePlan(
    Found devices, PortPlan ports, List<WorkerPlan> workers, List<ProcessPlan> processes) {
  public static final String GATEWAY = "gateway";

  /**
   * Variable with the number of workers that share the machine's memory, for a program that is
   * started in place of Java; {@code docker/bin/worker} reads it.
   */
  static final String MEMORY_WORKERS = "ROUNDHOUSE_MEMORY_WORKERS";

  /**
   * Variable with the number of processors that such a program may use; {@code docker/bin/worker}
   * reads it.
   */
  static final String PROCESSORS = "ROUNDHOUSE_PROCESSORS";

  private static final String LOOPBACK = "127.0.0.1";
  private static final int GATEWAY_STOPS = 0;
  private static final int WORKERS_STOP = 1;

  /** The processes that clients, or gateways elsewhere, talk to; the node is ready when all are. */
  public List<String> fronts() {
    return hasGateway() ? List.of(GATEWAY) : workers.stream().map(WorkerPlan::name).toList();
  }

  public boolean hasGateway() {
    return processes.getLast().name().equals(GATEWAY);
  }

  /**
   * Where each process answers operators, by name.
   *
   * @param address that all but workers behind a gateway listen on; empty for any
   */
  public List<OperatorsPort> operators(String address) {
    String ofWorkers = hasGateway() ? LOOPBACK : reachable(address);
    List<OperatorsPort> all = new ArrayList<>();
    for (WorkerPlan worker : workers) {
      InetSocketAddress metrics =
          InetSocketAddress.createUnresolved(ofWorkers, worker.ports().metrics());
      all.add(OperatorsPort.worker(worker.name(), metrics));
    }
    if (hasGateway()) {
      int port = ports.open().orElseThrow().metrics();
      InetSocketAddress metrics = InetSocketAddress.createUnresolved(reachable(address), port);
      all.add(OperatorsPort.process(GATEWAY, metrics));
    }
    all.sort(Comparator.comparing(OperatorsPort::name));
    return List.copyOf(all);
  }

  private static String reachable(String address) {
    return address.isEmpty() || address.equals("0.0.0.0") || address.equals("::")
        ? LOOPBACK
        : address;
  }

  /**
   * Makes the plan.
   *
   * @param jars of the applications
   * @throws dev.roundhouse.platform.config.StartRefusedException when it could not work
   */
  public static NodePlan of(
      NodeProperties settings, Found devices, PassedOn passed, DeviceMonitor monitor, Jars jars) {
    WorkerProcessProperties worker = settings.worker();
    GatewayProcessProperties gateway = settings.gateway();
    refuseIgnored("worker", worker.command(), worker.jvmOptions(), worker.jar());
    refuseIgnored("gateway", gateway.command(), gateway.jvmOptions(), gateway.jar());
    int count = workers(settings, devices);
    boolean hasGateway =
        switch (settings.role()) {
          case ALL -> count > 1;
          case WORKERS -> false;
          case GATEWAY -> true;
        };
    PortPlan ports = PortPlan.of(settings.ports(), count, hasGateway);
    List<String> names = WorkerNames.of(settings.worker().names(), count);
    List<WorkerPlan> workers = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      String name = names.get(i);
      workers.add(
          new WorkerPlan(
              name,
              devices.onCpu() ? Optional.empty() : Optional.of(devices.gpus().get(i)),
              count == 1 ? 0 : Math.max(1, Runtime.getRuntime().availableProcessors() / count),
              count,
              ports.workers().get(i)));
    }
    List<ProcessPlan> processes =
        new ArrayList<>(
            workerProcesses(settings, devices, passed, monitor, jars, workers, hasGateway));
    if (hasGateway) {
      processes.add(gateway(settings, passed, jars, ports.open().orElseThrow(), workers));
    }
    return new NodePlan(devices, ports, List.copyOf(workers), List.copyOf(processes));
  }

  private static int workers(NodeProperties settings, Found devices) {
    if (settings.role() == Role.GATEWAY) {
      return 0;
    }
    return devices.onCpu() ? settings.devices().cpuWorkers() : devices.gpus().size();
  }

  /** A program started in place of Java ignores Java's settings. */
  private static void refuseIgnored(
      String application, List<String> command, List<String> jvmOptions, String jar) {
    String key = "roundhouse.node." + application + ".";
    if (!command.isEmpty() && !jvmOptions.isEmpty()) {
      throw new StartRefusedException(
          "%sjvm-options is '%s', and %scommand starts '%s' in the place of Java with these options."
              .formatted(key, String.join(" ", jvmOptions), key, String.join(" ", command)),
          "Remove one of the two; Java reads options from the variable JDK_JAVA_OPTIONS too, whatever starts it.");
    }
    if (!command.isEmpty() && !jar.isEmpty()) {
      throw new StartRefusedException(
          "%sjar is '%s', and %scommand starts '%s' in its place."
              .formatted(key, jar, key, String.join(" ", command)),
          "Remove one of the two.");
    }
  }

  private static List<ProcessPlan> workerProcesses(
      NodeProperties settings,
      Found devices,
      PassedOn passed,
      DeviceMonitor monitor,
      Jars jars,
      List<WorkerPlan> workers,
      boolean behindGateway) {
    if (workers.isEmpty()) {
      return List.of();
    }
    WorkerProcessProperties worker = settings.worker();
    String jar =
        worker.command().isEmpty()
            ? jars.find(worker.jar(), "worker-service", "roundhouse.node.worker.jar")
            : "";
    String address = behindGateway ? LOOPBACK : settings.ports().address();
    // fails before anything starts
    workers.forEach(each -> each.spec(worker, devices, passed, jar, address));
    return workers.stream()
        .map(
            each ->
                new ProcessPlan(
                    each.name(),
                    () -> each.spec(worker, devices, passed, jar, address),
                    gate(each, settings, monitor),
                    worker.stopGrace(),
                    WORKERS_STOP))
        .toList();
  }

  private static StartGate gate(WorkerPlan worker, NodeProperties settings, DeviceMonitor monitor) {
    return worker
        .device()
        .<StartGate>map(
            device ->
                new MemoryGate(
                    worker.name(),
                    device,
                    monitor,
                    settings.devices().reclaimTimeout(),
                    settings.devices().reclaimMaxUsedPercent()))
        .orElse(StartGate.OPEN);
  }

  private static ProcessPlan gateway(
      NodeProperties settings, PassedOn passed, Jars jars, Ports ports, List<WorkerPlan> workers) {
    var gateway = settings.gateway();
    String jar =
        gateway.command().isEmpty()
            ? jars.find(gateway.jar(), "gateway-service", "roundhouse.node.gateway.jar")
            : "";
    CommandLine command =
        new CommandLine(gateway.command(), gateway.jvmOptions(), jar, "roundhouse.node.gateway.jar")
            .setAll(passed.gateway())
            .logAs(GATEWAY, passed.structuredLogs())
            .add(gateway.arguments())
            .add(
                workers.stream()
                    .flatMap(each -> told(gateway.workerArguments(), each, workers.indexOf(each)))
                    .toList())
            .listen(ports, settings.ports().address());
    passed
        .gatewayDrain()
        .within(gateway.stopGrace(), "gateway")
        .ifPresent(drain -> command.set("roundhouse.gateway.shutdown.drain", drain));
    Map<String, String> environment = new LinkedHashMap<>();
    environment.put("CUDA_VISIBLE_DEVICES", "");
    if (!workers.isEmpty()) {
      environment.put(MEMORY_WORKERS, String.valueOf(workers.size()));
    }
    environment.put(Supervised.VARIABLE, String.valueOf(gateway.stopGrace().toSeconds()));
    ProcessSpec spec = new ProcessSpec(command.build(), environment);
    return new ProcessPlan(GATEWAY, () -> spec, StartGate.OPEN, gateway.stopGrace(), GATEWAY_STOPS);
  }

  private static Stream<String> told(List<String> templates, WorkerPlan worker, int index) {
    return templates.stream()
        .map(
            template ->
                template
                    .replace("{index}", String.valueOf(index))
                    .replace("{name}", worker.name())
                    .replace("{grpc}", String.valueOf(worker.ports().grpc()))
                    .replace("{http}", String.valueOf(worker.ports().http()))
                    .replace("{metrics}", String.valueOf(worker.ports().metrics())));
  }
}

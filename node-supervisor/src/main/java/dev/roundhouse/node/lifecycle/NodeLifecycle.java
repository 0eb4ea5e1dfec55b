package dev.roundhouse.node.lifecycle;

import dev.roundhouse.node.devices.DeviceMonitor;
import dev.roundhouse.node.plan.NodePlan;
import dev.roundhouse.node.plan.Ports;
import dev.roundhouse.node.plan.WorkerPlan;
import dev.roundhouse.node.process.Supervisor;
import dev.roundhouse.platform.lifecycle.ReadinessChanged;
import dev.roundhouse.platform.logging.Announcer;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.function.IntConsumer;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationListener;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.event.ContextClosedEvent;

/**
 * Starts the processes, announces when the node is ready, and stops them before all else, so that
 * the status is still served while they drain. A process that ends too often stops the node with
 * exit code 1.
 */
public final class NodeLifecycle
    implements SmartLifecycle, ApplicationListener<ContextClosedEvent> {
  /** Exit code when a process has ended too often. */
  public static final int GAVE_UP = 1;

  private static final Logger log = LoggerFactory.getLogger(NodeLifecycle.class);

  private final NodePlan plan;
  private final Supervisor supervisor;
  private final DeviceMonitor monitor;
  private final ReadyProbes probes;
  private final Duration pollInterval;
  private final ApplicationContext context;
  private final Announcer announcer;
  private final IntConsumer exit;
  private volatile boolean running;
  private volatile boolean stopping;
  private boolean announced;
  private boolean printed;

  /**
   * @param address that all but workers behind a gateway listen on
   * @param pollInterval between two reads of device memory
   * @param announcer gets the line {@code ready ...}
   * @param exit closes the application and ends the process with a code
   */
  public NodeLifecycle(
      NodePlan plan,
      Supervisor supervisor,
      DeviceMonitor monitor,
      String address,
      Duration pollInterval,
      ApplicationContext context,
      Announcer announcer,
      IntConsumer exit) {
    this.plan = plan;
    this.supervisor = supervisor;
    this.monitor = monitor;
    this.pollInterval = pollInterval;
    this.context = context;
    this.announcer = announcer;
    this.exit = exit;
    probes = new ReadyProbes(supervisor, plan, address, this::refresh);
  }

  @Override
  public void start() {
    running = true;
    log.info(processes());
    monitor.start(pollInterval);
    supervisor.start();
    probes.start();
    var unused =
        supervisor
            .ended()
            .thenAccept(
                gaveUp -> {
                  if (gaveUp) {
                    Thread.ofPlatform().name("give-up").start(() -> exit.accept(GAVE_UP));
                  }
                });
  }

  private String processes() {
    int workers = plan.workers().size();
    if (workers == 0) {
      return "a gateway, whose workers are elsewhere";
    }
    return "%s by %s; %s%s"
        .formatted(
            plan.devices().onCpu() ? "no GPU" : "GPUs " + plan.devices().gpus(),
            plan.devices().source(),
            workers == 1 ? "1 worker" : workers + " workers",
            plan.hasGateway() ? " and a gateway" : "");
  }

  /** Whether the gateway is ready, or without a gateway every worker. */
  public boolean isReady() {
    return !stopping && plan.fronts().stream().allMatch(probes::isReady);
  }

  public boolean isReady(String process) {
    return probes.isReady(process);
  }

  private synchronized void refresh() {
    boolean ready = isReady();
    if (ready != announced) {
      announced = ready;
      context.publishEvent(new ReadinessChanged(ready));
      if (!stopping) {
        log.info("the node is {}", ready ? "ready" : "not ready");
      }
    }
    if (ready && !printed) {
      printed = true;
      List<Ports> open =
          plan.ports()
              .open()
              .map(List::of)
              .orElseGet(() -> plan.workers().stream().map(WorkerPlan::ports).toList());
      announcer.tell(
          String.format(
              Locale.ROOT,
              "ready grpc=%s http=%s metrics=%s node=%d workers=%d gateway=%s seconds=%.1f",
              each(open, Ports::grpc),
              each(open, Ports::http),
              each(open, Ports::metrics),
              plan.ports().node(),
              plan.workers().size(),
              plan.hasGateway(),
              ManagementFactory.getRuntimeMXBean().getUptime() / 1000.0));
    }
  }

  private static String each(List<Ports> ports, ToIntFunction<Ports> port) {
    return ports.stream()
        .map(of -> String.valueOf(port.applyAsInt(of)))
        .collect(Collectors.joining(","));
  }

  @Override
  public void onApplicationEvent(ContextClosedEvent event) {
    if (event.getApplicationContext() == context) {
      shutDown();
    }
  }

  /** After that event; without it when the start has failed further on. */
  @Override
  public void stop() {
    shutDown();
  }

  private void shutDown() {
    if (!running) {
      return;
    }
    running = false;
    stopping = true;
    refresh();
    supervisor.stop();
    boolean gaveUp = supervisor.ended().join();
    log.info("every process has ended{}", gaveUp ? "; one of them too often" : "");
    probes.close();
  }

  @Override
  public boolean isRunning() {
    return running;
  }

  /** Early, because workers take longer to start than the supervisor does. */
  @Override
  public int getPhase() {
    return 0;
  }
}

package dev.roundhouse.node.lifecycle;

import dev.roundhouse.node.devices.DeviceMonitor;
import dev.roundhouse.node.plan.NodePlan;
import dev.roundhouse.node.plan.Ports;
import dev.roundhouse.node.process.Supervisor;
import dev.roundhouse.platform.lifecycle.ReadinessChanged;
import dev.roundhouse.platform.logging.Announcer;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.Locale;
import java.util.function.IntConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationListener;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.event.ContextClosedEvent;

/**
 * Starts the processes, says when the node is ready, and stops them first of all: the status is
 * answered while they drain. A process that ended too often stops the node with exit code 1.
 */
public final class NodeLifecycle
    implements SmartLifecycle, ApplicationListener<ContextClosedEvent> {
  /** What the process exits with when one of its processes has ended too often. */
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
   * @param pollInterval how often it is looked how full the devices are
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
    log.info(
        "{} by {}; {}",
        plan.devices().onCpu() ? "no GPU" : "GPUs " + plan.devices().gpus(),
        plan.devices().source(),
        plan.workers().size() == 1 ? "1 worker" : plan.workers().size() + " workers and a gateway");
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

  /** Whether the gateway, or the only worker, is. */
  public boolean isReady() {
    return !stopping && probes.isReady(plan.front());
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
      Ports open = plan.ports().open();
      announcer.tell(
          String.format(
              Locale.ROOT,
              "ready grpc=%d http=%d metrics=%d node=%d workers=%d gateway=%s seconds=%.1f",
              open.grpc(),
              open.http(),
              open.metrics(),
              plan.ports().node(),
              plan.workers().size(),
              plan.workers().size() > 1,
              ManagementFactory.getRuntimeMXBean().getUptime() / 1000.0));
    }
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

  /** Early: workers take longer to start than the rest of this. */
  @Override
  public int getPhase() {
    return 0;
  }
}

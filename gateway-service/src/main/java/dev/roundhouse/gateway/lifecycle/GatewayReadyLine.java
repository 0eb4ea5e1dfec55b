package dev.roundhouse.gateway.lifecycle;

import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.platform.lifecycle.ReadinessChanged;
import dev.roundhouse.platform.logging.Announcer;
import java.lang.management.ManagementFactory;
import java.util.Locale;
import java.util.function.Supplier;
import org.springframework.context.event.EventListener;

/** Prints one line when the gateway is ready for the first time, which scripts wait for. */
public final class GatewayReadyLine {
  private final Workers workers;
  private final Supplier<String> ports;
  private final Announcer announcer;
  private boolean printed;

  /**
   * @param ports as {@code name=port}, apart by blanks; asked when all are open
   */
  public GatewayReadyLine(Workers workers, Supplier<String> ports, Announcer announcer) {
    this.workers = workers;
    this.ports = ports;
    this.announcer = announcer;
  }

  @EventListener
  synchronized void onReadinessChanged(ReadinessChanged change) {
    if (change.ready() && !printed) {
      printed = true;
      long millis = ManagementFactory.getRuntimeMXBean().getUptime();
      announcer.tell(
          String.format(
              Locale.ROOT,
              "ready %s workers=%d seconds=%.1f",
              ports.get(),
              workers.ready().size(),
              millis / 1000.0));
    }
  }
}

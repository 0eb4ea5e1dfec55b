package dev.roundhouse.worker.wiring;

import dev.roundhouse.engine.transport.Transport;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.worker.transport.Transports;
import java.io.IOException;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationListener;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.event.ContextClosedEvent;

/**
 * Starts the transports after the models have begun to load, those that Boot has started among
 * them. All of them drain as soon as the context begins to close; then each in turn has what is
 * left of the time. What one of them throws keeps no other from that. Stops before the engine,
 * which still answers what they have taken.
 */
final class TransportLifecycle implements SmartLifecycle, ApplicationListener<ContextClosedEvent> {
  private static final Logger log = LoggerFactory.getLogger(TransportLifecycle.class);

  private final Transports transports;
  private final Duration budget;
  private final ApplicationContext context;
  private volatile long closedAtNanos;
  private volatile boolean running;

  /**
   * @param budget from when the context begins to close
   */
  TransportLifecycle(Transports transports, Duration budget, ApplicationContext context) {
    this.transports = transports;
    this.budget = budget;
    this.context = context;
  }

  @Override
  public void start() {
    running = true; // those before one that cannot start are stopped, and that one says so itself
    for (Transport transport : transports.all()) {
      try {
        transport.start();
      } catch (IOException e) {
        throw new StartRefusedException(
            "The transport '%s' cannot be started: %s.".formatted(transport.name(), e.getMessage()),
            "Name a port or a path that is free, or end what has it.",
            e);
      }
    }
  }

  @Override
  public void onApplicationEvent(ContextClosedEvent event) {
    if (event.getApplicationContext() == context) { // one within this closes too
      closedAtNanos = System.nanoTime();
      transports.all().forEach(TransportLifecycle::drain);
    }
  }

  private static void drain(Transport transport) {
    try {
      transport.drain();
    } catch (RuntimeException | Error e) {
      log.error("the transport '{}' could not drain", transport.name(), e);
    }
  }

  @Override
  public void stop() {
    running = false;
    for (Transport transport : transports.all()) {
      try {
        transport.stop(left());
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt(); // the others are closed at once
      } catch (RuntimeException | Error e) {
        log.error("the transport '{}' could not stop", transport.name(), e);
      }
    }
  }

  private Duration left() {
    if (Thread.currentThread().isInterrupted()) {
      return Duration.ZERO;
    }
    Duration left =
        closedAtNanos == 0 ? budget : budget.minusNanos(System.nanoTime() - closedAtNanos);
    return left.isNegative() ? Duration.ZERO : left;
  }

  @Override
  public boolean isRunning() {
    return running;
  }

  /**
   * As gRPC's, on which it depends: it starts after, and stops before all that Boot has started.
   */
  @Override
  public int getPhase() {
    return Integer.MAX_VALUE;
  }
}

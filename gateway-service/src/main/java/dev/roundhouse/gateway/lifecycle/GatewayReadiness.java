package dev.roundhouse.gateway.lifecycle;

import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.platform.lifecycle.ReadinessChanged;
import org.springframework.context.ApplicationEventPublisher;

/**
 * The gateway's readiness: while a worker takes requests, until it is told to stop. Thread-safe.
 */
public final class GatewayReadiness {
  private final Workers workers;
  private final ApplicationEventPublisher events;
  private boolean announced;
  private volatile boolean stopping;
  private volatile boolean failed;

  public GatewayReadiness(Workers workers, ApplicationEventPublisher events) {
    this.workers = workers;
    this.events = events;
  }

  public boolean isReady() {
    return !stopping && !failed && !workers.ready().isEmpty();
  }

  /** False when the gateway has failed: the process is about to end. */
  public boolean isAlive() {
    return !failed;
  }

  /** From now on it is neither ready nor alive. */
  void fail() {
    failed = true;
    refresh();
  }

  public boolean isStopping() {
    return stopping;
  }

  /** From now on it is not ready. */
  public void stop() {
    stopping = true;
    refresh();
  }

  /** Announces a change since the last call; one at a time, so that the last word is the truth. */
  public synchronized void refresh() {
    boolean ready = isReady();
    if (announced != ready) {
      announced = ready;
      events.publishEvent(new ReadinessChanged(ready));
    }
  }
}

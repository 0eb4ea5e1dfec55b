package dev.roundhouse.worker.lifecycle;

import dev.roundhouse.engine.Engine;
import org.springframework.context.ApplicationEventPublisher;

/**
 * Whether the worker says it is ready: from the moment that every model has finished loading until
 * it is told to stop. A model that failed does not hold the others back. Thread-safe.
 */
public final class Readiness {
  private final Engine engine;
  private final ApplicationEventPublisher events;
  private boolean announced;
  private volatile boolean modelsKnown;
  private volatile boolean stopping;

  public Readiness(Engine engine, ApplicationEventPublisher events) {
    this.engine = engine;
    this.events = events;
  }

  public boolean isReady() {
    return modelsKnown && !stopping && engine.isReady();
  }

  public boolean isStopping() {
    return stopping;
  }

  /** Every model of the repository has been handed to the engine. */
  void modelsKnown() {
    modelsKnown = true;
    refresh();
  }

  void stop() {
    stopping = true;
    refresh();
  }

  /** Announces a change since the last call; one at a time, so that the last word is the truth. */
  synchronized void refresh() {
    boolean ready = isReady();
    if (announced != ready) {
      announced = ready;
      events.publishEvent(new ReadinessChanged(ready));
    }
  }

  /** Published on the thread that noticed. */
  public record ReadinessChanged(boolean ready) {}
}

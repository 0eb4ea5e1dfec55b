package dev.roundhouse.worker.lifecycle;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.platform.lifecycle.ReadinessChanged;
import java.time.Instant;
import org.jspecify.annotations.Nullable;
import org.springframework.context.ApplicationEventPublisher;

/**
 * The worker's readiness: from when all models of the start have finished loading until it is told
 * to stop, whatever is loaded later. A failed model does not hold the others back. If strict: while
 * every model is loaded. An operator may drain the worker, which is not ready then and serves on
 * what still comes. The cost does not depend on the number of models. Thread-safe.
 */
public final class Readiness {
  private final Engine engine;
  private final ApplicationEventPublisher events;
  private final boolean strict;
  private boolean announced;
  private volatile boolean startOver;
  private volatile boolean modelsKnown;
  private volatile boolean stopping;
  private volatile @Nullable Instant drainingSince;

  /**
   * @param strict a model that fails, or is loading for the first time, holds readiness back
   */
  public Readiness(Engine engine, ApplicationEventPublisher events, boolean strict) {
    this.engine = engine;
    this.events = events;
    this.strict = strict;
  }

  public boolean isReady() {
    if (!modelsKnown || stopping || drainingSince != null || !engine.isServing()) {
      return false;
    }
    boolean settled = engine.isReady();
    if (strict) {
      return settled && engine.reports().failedModels() == 0;
    }
    if (settled && !startOver) {
      startOver = true;
    }
    return startOver;
  }

  /** False when the engine has failed: the process is about to end. */
  public boolean isAlive() {
    return engine.isAlive();
  }

  public boolean isStopping() {
    return stopping;
  }

  /** Since when an operator has it turn new work away; null while none does. */
  public @Nullable Instant drainingSince() {
    return drainingSince;
  }

  /** Turns new work away, by not being ready, or takes it again; the first time counts. */
  public synchronized void drain(boolean draining) {
    if (!draining) {
      drainingSince = null;
    } else if (drainingSince == null) {
      drainingSince = Instant.now();
    }
    refresh();
  }

  /** Every model of the repository has been handed to the engine. */
  void modelsKnown() {
    modelsKnown = true;
    refresh();
  }

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

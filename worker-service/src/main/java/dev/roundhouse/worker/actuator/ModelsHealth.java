package dev.roundhouse.worker.actuator;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.worker.lifecycle.Readiness;
import java.util.Map;
import java.util.TreeMap;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;

/**
 * Health {@code models}: out of service while a model is loading, or the worker stops or is
 * drained. A model that failed is named with its reason and leaves the worker up, because the
 * others serve; so is one that serves although its newer files could not be loaded.
 */
public final class ModelsHealth extends AbstractHealthIndicator {
  private final Engine engine;
  private final Readiness readiness;

  public ModelsHealth(Engine engine, Readiness readiness) {
    this.engine = engine;
    this.readiness = readiness;
  }

  @Override
  protected void doHealthCheck(Health.Builder health) {
    Map<String, String> failed = new TreeMap<>();
    int ready = 0;
    int loading = 0;
    for (ModelStatus model : engine.reports().models()) {
      switch (model.state()) {
        case READY -> ready++;
        case LOADING -> loading++;
        case FAILED -> failed.put(model.name(), model.reason());
        case UNLOADING, UNLOADED -> {}
      }
    }
    if (readiness.isReady()) {
      health.up();
    } else {
      health.outOfService();
    }
    health
        .withDetail("ready", ready)
        .withDetail("loading", loading)
        .withDetail("failed", failed)
        .withDetail("stale", engine.reports().stale())
        .withDetail("stopping", readiness.isStopping())
        .withDetail("draining", readiness.drainingSince() != null);
  }
}

package dev.roundhouse.worker.actuator;

import dev.roundhouse.bundle.model.ServingDefaults.Residency;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.platform.audit.Audit;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;

/** Pins a model's weights or lets them leave, and keeps a record of it. Thread-safe. */
final class PinChange {
  /** How long a caller waits: a gigabyte of weights takes less than a second to load. */
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private final Engine engine;

  PinChange(Engine engine) {
    this.engine = engine;
  }

  WebEndpointResponse<Map<String, Object>> apply(String name, @Nullable Boolean pinned) {
    ModelStatus model = engine.model(name).orElse(null);
    if (model == null) {
      return refused(
          404, "no model is named '" + name + "'; GET /actuator/residency lists the ready ones");
    }
    if (pinned == null) {
      return refused(400, "nothing is asked of model '" + name + "'; send {\"pinned\": true}");
    }
    if (!model.isReady()) {
      return refused(
          409,
          "model '%s' is %s and only a ready one can be pinned".formatted(name, model.state()));
    }
    return ask(name, pinned);
  }

  private WebEndpointResponse<Map<String, Object>> ask(String name, boolean pinned) {
    try {
      engine
          .admin()
          .setResidency(name, pinned ? Residency.PINNED_DEVICE : Residency.PINNED_SYSTEM)
          .get(PATIENCE.toNanos(), TimeUnit.NANOSECONDS);
    } catch (ExecutionException e) {
      return refused(
          409, "model '" + name + "': " + Objects.requireNonNull(e.getCause()).getMessage());
    } catch (TimeoutException e) {
      return refused(
          503,
          "the weights of model '%s' have not come within %d s; they are pinned when they do"
              .formatted(name, PATIENCE.toSeconds()));
    } catch (CancellationException e) {
      return refused(503, "the dispatch thread takes no commands: it stops, or too many wait");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return refused(503, "the worker stops");
    }
    Audit.record(
        "model '%s' %s".formatted(name, pinned ? "pinned on the device" : "no longer pinned"));
    return new WebEndpointResponse<>(Map.of("name", name, "pinned", pinned), 200);
  }

  private static WebEndpointResponse<Map<String, Object>> refused(int status, String error) {
    return new WebEndpointResponse<>(Map.of("error", error), status);
  }
}

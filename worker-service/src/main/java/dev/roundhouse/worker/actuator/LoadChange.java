package dev.roundhouse.worker.actuator;

import dev.roundhouse.kserve.codec.ParameterValue;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.worker.config.RepositoryProperties.Mode;
import dev.roundhouse.worker.lifecycle.ModelRepository;
import dev.roundhouse.worker.transport.ModelControl;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;

/**
 * Loads a model or takes it out of service as {@link ModelControl} does for callers of the
 * protocol, and keeps a record of it. Thread-safe.
 */
final class LoadChange {
  /** How long a caller waits; a load that compiles may take minutes, and goes on. */
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private static final String NO_REPOSITORY_NAME = "";

  private final ModelRepository repository;
  private final ModelControl control;

  LoadChange(ModelRepository repository, ModelControl control) {
    this.repository = repository;
    this.control = control;
  }

  WebEndpointResponse<Object> apply(
      String name, @Nullable Boolean loaded, @Nullable Boolean unloadDependents) {
    if (loaded == null) {
      return refused(
          400, "nothing is asked of model '%s'; send {\"loaded\": true}".formatted(name));
    }
    if (loaded && unloadDependents != null) {
      return refused(
          400,
          "unloadDependents of model '%s' goes with {\"loaded\": false} only; remove it"
              .formatted(name));
    }
    if (repository.mode() == Mode.EXPLICIT && !repository.has(name)) {
      return refused(
          404,
          "the repository has no model '%s'; GET /actuator/repository lists what it has"
              .formatted(name));
    }
    return loaded ? load(name) : unload(name, Boolean.TRUE.equals(unloadDependents));
  }

  private WebEndpointResponse<Object> load(String name) {
    try {
      return await(name, true, control.load(NO_REPOSITORY_NAME, name, Map.of()));
    } catch (WireException e) {
      return refused(e);
    }
  }

  private WebEndpointResponse<Object> unload(String name, boolean dependents) {
    Map<String, ParameterValue> parameters =
        dependents ? Map.of("unload_dependents", new ParameterValue.Flag(true)) : Map.of();
    try {
      return await(name, false, control.unload(NO_REPOSITORY_NAME, name, parameters));
    } catch (WireException e) {
      return refused(e);
    }
  }

  private static WebEndpointResponse<Object> await(
      String name, boolean loaded, CompletableFuture<Void> change) {
    boolean over = false;
    try {
      change.get(PATIENCE.toNanos(), TimeUnit.NANOSECONDS);
      over = true;
    } catch (TimeoutException e) {
      // goes on, which is said below
    } catch (ExecutionException e) {
      String why = String.valueOf(e.getCause() == null ? e : e.getCause().getMessage());
      return e.getCause() instanceof WireException failure ? refused(failure) : refused(503, why);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return refused(503, "the worker stops");
    }
    return new WebEndpointResponse<>(new Changed(name, loaded, over), over ? 200 : 202);
  }

  /**
   * What was asked has been done.
   *
   * @param over false when it has only begun
   */
  record Changed(String name, boolean loaded, boolean over) {}

  private static WebEndpointResponse<Object> refused(WireException why) {
    return refused(why.status().httpCode(), why.text());
  }

  private static WebEndpointResponse<Object> refused(int status, String error) {
    return new WebEndpointResponse<>(Map.of("error", error), status);
  }
}

package dev.roundhouse.worker.transport;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.kserve.codec.ModelVersion;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireException.About;
import dev.roundhouse.kserve.status.WireStatus;
import java.util.List;

/** Answers questions about models in the protocol's words. */
public final class ModelLookup {
  private final Engine engine;

  public ModelLookup(Engine engine) {
    this.engine = engine;
  }

  /**
   * True when requests for the model would be accepted; false, not an error, when there is no such
   * model.
   *
   * @throws WireException INVALID_ARGUMENT when {@code version} is not a version
   */
  public boolean isReady(String name, String version) {
    String wanted = ModelVersion.parse(version);
    return engine.answers(name, wanted);
  }

  /**
   * The model, which is ready.
   *
   * @throws WireException NOT_FOUND or UNAVAILABLE when it is not
   */
  public ModelStatus ready(String name, String version) {
    String wanted = ModelVersion.parse(version);
    ModelStatus answering =
        engine
            .model(name)
            .orElseThrow(() -> notFound("Request for unknown model: '%s' is not found", name));
    ModelStatus model =
        engine
            .model(name, wanted)
            .orElseThrow(
                () ->
                    notFound(
                        "Request for unknown model: '%s' version %s is not found; version %s is served",
                        name, wanted, answering.version()));
    return switch (model.state()) {
      case READY -> model;
      case LOADING ->
          throw WireException.unavailable(
              About.MODEL,
              "Request for model '%s' version %s is not at ready state: it is loading"
                  .formatted(name, model.version()));
      case FAILED ->
          throw notFound(
              "Request for model: '%s' has no available versions: %s", name, model.failure());
      case UNLOADING, UNLOADED ->
          throw notFound(
              "Request for model: '%s' has no available versions: it was unloaded", name);
    };
  }

  /** The versions of a model that are ready, ascending. */
  public List<String> readyVersions(String name) {
    return engine.reports().versions(name).stream()
        .filter(ModelStatus::isReady)
        .map(ModelStatus::version)
        .toList();
  }

  private static WireException notFound(String format, Object... values) {
    return new WireException(WireStatus.NOT_FOUND, format.formatted(values));
  }
}

package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.platform.rest.InferPath;
import dev.roundhouse.platform.rest.RequestBodies;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.transport.http1.RequestRoutes;
import dev.roundhouse.transport.http1.RouteTarget;
import dev.roundhouse.worker.transport.Inference;
import dev.roundhouse.worker.transport.ModelLookup;
import org.jspecify.annotations.Nullable;

/** Answers HTTP inference; others answer the rest. Thread-safe. */
public final class InferRoutes implements RequestRoutes {
  /** Told to a client whose body is too large. */
  public static final String REMEDY =
      "send less, or raise roundhouse.worker.server.max-message-size";

  private final Inference inference;
  private final ModelLookup models;
  private final InferDocuments documents;
  private final ClientText texts;
  private final RequestBodies bodies;
  private final RequestRoutes others;

  /**
   * @param texts error texts for callers
   * @param others answer everything else
   */
  public InferRoutes(
      Inference inference,
      ModelLookup models,
      ClientText texts,
      RequestBodies bodies,
      RequestRoutes others) {
    this.inference = inference;
    this.models = models;
    documents = new InferDocuments(models);
    this.texts = texts;
    this.bodies = bodies;
    this.others = others;
  }

  @Override
  public RouteTarget route(String method, String target, @Nullable CallerRights caller) {
    InferPath path = InferPath.of(method, target);
    if (path == null) {
      return others.route(method, target, caller);
    }
    return switch (path.operation()) {
      case INFER -> new HttpInferCall(this, path, caller);
      case GENERATE -> new GenerateCall(this, path, caller, false);
      case GENERATE_STREAM -> new GenerateCall(this, path, caller, true);
    };
  }

  Inference inference() {
    return inference;
  }

  ModelLookup models() {
    return models;
  }

  InferDocuments documents() {
    return documents;
  }

  ClientText texts() {
    return texts;
  }

  RequestBodies bodies() {
    return bodies;
  }
}

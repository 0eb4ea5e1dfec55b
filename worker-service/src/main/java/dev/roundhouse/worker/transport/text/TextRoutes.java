package dev.roundhouse.worker.transport.text;

import dev.roundhouse.platform.rest.RequestBodies;
import dev.roundhouse.platform.rest.TextPath;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.transport.http1.RequestRoutes;
import dev.roundhouse.transport.http1.RouteTarget;
import dev.roundhouse.worker.transport.Inference;
import dev.roundhouse.worker.transport.ModelLookup;
import org.jspecify.annotations.Nullable;

/** Answers requests of texts; others answer the rest. Thread-safe. */
public final class TextRoutes implements RequestRoutes {
  private final Inference inference;
  private final ModelLookup models;
  private final ClientText texts;
  private final RequestBodies bodies;
  private final RequestRoutes others;

  /**
   * @param texts error texts for callers
   * @param others answer everything else
   */
  public TextRoutes(
      Inference inference,
      ModelLookup models,
      ClientText texts,
      RequestBodies bodies,
      RequestRoutes others) {
    this.inference = inference;
    this.models = models;
    this.texts = texts;
    this.bodies = bodies;
    this.others = others;
  }

  @Override
  public RouteTarget route(String method, String target, @Nullable CallerRights caller) {
    TextPath path = TextPath.of(method, target);
    return path == null ? others.route(method, target, caller) : new TextCall(this, path, caller);
  }

  Inference inference() {
    return inference;
  }

  ModelLookup models() {
    return models;
  }

  ClientText texts() {
    return texts;
  }

  RequestBodies bodies() {
    return bodies;
  }
}

package dev.roundhouse.worker.transport.v1;

import dev.roundhouse.platform.rest.RequestBodies;
import dev.roundhouse.platform.rest.V1InferPath;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.transport.http1.RequestRoutes;
import dev.roundhouse.transport.http1.RouteTarget;
import org.jspecify.annotations.Nullable;

/** Answers inference by v1 over HTTP; others answer the rest. Thread-safe. */
public final class V1Routes implements RequestRoutes {
  private final V1Protocol protocol;
  private final ClientText texts;
  private final RequestBodies bodies;
  private final RequestRoutes others;

  /**
   * @param texts error texts for callers
   * @param others answer everything else
   */
  public V1Routes(
      V1Protocol protocol, ClientText texts, RequestBodies bodies, RequestRoutes others) {
    this.protocol = protocol;
    this.texts = texts;
    this.bodies = bodies;
    this.others = others;
  }

  @Override
  public RouteTarget route(String method, String target, @Nullable CallerRights caller) {
    V1InferPath path = V1InferPath.of(method, target);
    return path == null ? others.route(method, target, caller) : new HttpCall(this, path, caller);
  }

  V1Inference inference() {
    return protocol.inference();
  }

  Statuses statuses() {
    return protocol.statuses();
  }

  ClientText texts() {
    return texts;
  }

  RequestBodies bodies() {
    return bodies;
  }
}

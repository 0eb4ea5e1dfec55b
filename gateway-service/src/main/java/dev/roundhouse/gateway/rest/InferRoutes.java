package dev.roundhouse.gateway.rest;

import dev.roundhouse.gateway.fleet.WorkerTls;
import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.gateway.route.ModelRoutes;
import dev.roundhouse.kserve.codec.CallerHeader;
import dev.roundhouse.kserve.codec.SpentHeader;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.rest.InferPath;
import dev.roundhouse.platform.rest.TextPath;
import dev.roundhouse.platform.rest.V1InferPath;
import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.transport.forward.ForwardingBudget;
import dev.roundhouse.transport.forward.HttpForwarder;
import dev.roundhouse.transport.forward.HttpForwarding;
import dev.roundhouse.transport.forward.UpstreamTls;
import dev.roundhouse.transport.http1.RequestRoutes;
import dev.roundhouse.transport.http1.RouteTarget;
import io.netty.handler.ssl.SslContext;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Finds inference among HTTP requests and forwards it to workers; others answer the rest.
 * Thread-safe.
 */
public final class InferRoutes implements RequestRoutes {
  /** Told to a client whose body is too large. */
  public static final String REMEDY =
      "send less, or raise roundhouse.gateway.server.max-message-size";

  /** Of a connection to a worker; half of what our workers allow. */
  private static final Duration IDLE = Duration.ofSeconds(30);

  private final ModelRoutes routes;
  private final Workers workers;
  private final HttpForwarder forwarder;
  private final RequestRoutes others;
  private final boolean servesV1;

  /**
   * @param memory for requests in progress
   * @param maxBodyBytes of a request
   * @param silence of a worker's kernel, after which a connection is lost
   * @param servesV1 whether inference by v1 is sent on too
   * @param others answer what is no inference
   */
  public InferRoutes(
      ModelRoutes routes,
      Workers workers,
      ForwardingBudget memory,
      WorkerTls tls,
      long maxBodyBytes,
      Duration silence,
      boolean servesV1,
      RequestRoutes others) {
    this.routes = routes;
    this.workers = workers;
    this.others = others;
    this.servesV1 = servesV1;
    SslContext secret = tls.http();
    forwarder =
        new HttpForwarder(
            new HttpForwarding(
                memory,
                maxBodyBytes,
                REMEDY,
                code -> WireStatus.httpCode(code.value()),
                new HttpForwarding.Headers(
                    Access.SEALED_CALLER,
                    CallerHeader.NAME,
                    SpentHeader.NAME,
                    WireException.BEGAN,
                    WireException.ABOUT),
                secret == null ? null : new UpstreamTls(secret, tls.serverName()),
                silence,
                IDLE));
  }

  @Override
  public RouteTarget route(String method, String target, @Nullable CallerRights caller) {
    InferPath path = InferPath.of(method, target);
    if (path != null) {
      return forwarder.request(new InferRouter(routes, workers, path, caller));
    }
    V1InferPath v1 = servesV1 ? V1InferPath.of(method, target) : null;
    if (v1 != null) {
      return forwarder.request(new V1Router(routes, workers, v1, caller));
    }
    TextPath texts = TextPath.of(method, target);
    return texts == null
        ? others.route(method, target, caller)
        : forwarder.request(new TextRouter(routes, workers, texts, caller));
  }
}

package dev.roundhouse.gateway.rest;

import dev.roundhouse.gateway.fleet.WorkerLink;
import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.gateway.payload.PayloadCopies;
import dev.roundhouse.gateway.route.ModelRoutes;
import dev.roundhouse.gateway.route.RouteAttempt;
import dev.roundhouse.platform.rest.InferPath;
import dev.roundhouse.platform.telemetry.TraceContexts;
import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.transport.forward.CallRouter.Route;
import dev.roundhouse.transport.forward.HttpRouter;
import dev.roundhouse.transport.forward.PassingCopy;
import io.grpc.StatusException;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;

/** Routes one HTTP inference. For its event loop. */
final class InferRouter implements HttpRouter {
  private static final String JSON_LENGTH = "Inference-Header-Content-Length";

  private final ModelRoutes routes;
  private final Workers workers;
  private final InferPath path;
  private final @Nullable CallerRights caller;

  InferRouter(ModelRoutes routes, Workers workers, InferPath path, @Nullable CallerRights caller) {
    this.routes = routes;
    this.workers = workers;
    this.path = path;
    this.caller = caller;
  }

  @Override
  public @Nullable CallerRights caller() {
    return caller;
  }

  @Override
  public Route route(HttpHeaders headers, byte[] begin) throws StatusException {
    if (caller != null) {
      caller.infer(path.name());
    }
    return traced(
        routes,
        headers,
        routes.route(
            RestHead.read(
                path.name(), path.version(), begin, jsonLength(headers), encoding(headers))));
  }

  @Override
  public @Nullable Route second(Route first, HttpHeaders headers, byte[] body) {
    return path.operation() != InferPath.Operation.GENERATE_STREAM
            && RestHead.mayRunTwice(body, jsonLength(headers), encoding(headers))
        ? ((RouteAttempt) first).hedge()
        : null;
  }

  @Override
  public @Nullable PassingCopy copy(Route route, HttpHeaders headers) {
    PayloadCopies copies = routes.copies();
    return copies == null || path.operation() != InferPath.Operation.INFER
        ? null
        : copies.request(path.name(), headers);
  }

  /** Tells a route of the caller's span. */
  static Route traced(ModelRoutes routes, HttpHeaders headers, RouteAttempt route) {
    if (routes.tracesCalls()) {
      route.calledIn(headers.get(TraceContexts.TRACEPARENT), headers.get(TraceContexts.TRACESTATE));
    }
    return route;
  }

  private static @Nullable String encoding(HttpHeaders headers) {
    return headers.get(HttpHeaderNames.CONTENT_ENCODING);
  }

  private static int jsonLength(HttpHeaders headers) {
    String length = headers.get(JSON_LENGTH);
    try {
      return length == null ? -1 : Integer.parseInt(length);
    } catch (NumberFormatException e) {
      return -1; // the worker reports it
    }
  }

  @Override
  public @Nullable InetSocketAddress address(Route route) {
    return address(workers, route);
  }

  static @Nullable InetSocketAddress address(Workers workers, Route route) {
    return workers
        .worker(((RouteAttempt) route).worker())
        .map(WorkerLink::worker)
        .map(worker -> worker.http())
        .orElse(null);
  }

  @Override
  public String name(Route route) {
    return nameOf(route);
  }

  static String nameOf(Route route) {
    return "worker '" + ((RouteAttempt) route).worker() + "'";
  }
}

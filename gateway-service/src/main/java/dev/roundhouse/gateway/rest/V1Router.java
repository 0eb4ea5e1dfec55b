package dev.roundhouse.gateway.rest;

import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.gateway.route.ModelRoutes;
import dev.roundhouse.gateway.route.RequestHead;
import dev.roundhouse.gateway.route.V1Head;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.v1.HeaderText;
import dev.roundhouse.kserve.v1.RequestStatuses;
import dev.roundhouse.kserve.v1.proto.RequestStatus;
import dev.roundhouse.platform.rest.V1InferPath;
import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.transport.forward.CallRouter.Route;
import dev.roundhouse.transport.forward.HttpRouter;
import io.grpc.Status;
import io.grpc.StatusException;
import io.netty.handler.codec.http.HttpHeaders;
import java.net.InetSocketAddress;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Routes one inference of v1, by its path and the header {@code NV-InferRequest}. */
final class V1Router implements HttpRouter {
  private final ModelRoutes routes;
  private final Workers workers;
  private final V1InferPath path;
  private final @Nullable CallerRights caller;

  V1Router(ModelRoutes routes, Workers workers, V1InferPath path, @Nullable CallerRights caller) {
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
    return InferRouter.traced(routes, headers, routes.routeOnce(head(headers)));
  }

  private RequestHead head(HttpHeaders headers) {
    String text = headers.get(HeaderText.REQUEST);
    if (text != null) {
      try {
        return V1Head.of(path.name(), path.version(), HeaderText.request(text));
      } catch (WireException e) {
        // the worker reports it
      }
    }
    return new RequestHead(path.name(), path.version(), "", 1);
  }

  /** None: over gRPC there is none either. */
  @Override
  public @Nullable Route second(Route first, HttpHeaders headers, byte[] body) {
    return null;
  }

  @Override
  public Map<String, String> refusalHeaders(Status told) {
    RequestStatus status =
        RequestStatus.newBuilder()
            .setCode(RequestStatuses.code(told.getCode().value()))
            .setMsg(String.valueOf(told.getDescription()))
            .build();
    return Map.of(HeaderText.STATUS, HeaderText.of(status));
  }

  @Override
  public @Nullable InetSocketAddress address(Route route) {
    return InferRouter.address(workers, route);
  }

  @Override
  public String name(Route route) {
    return InferRouter.nameOf(route);
  }
}

package dev.roundhouse.gateway.rest;

import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.gateway.route.ModelRoutes;
import dev.roundhouse.gateway.route.RequestHead;
import dev.roundhouse.gateway.route.RouteAttempt;
import dev.roundhouse.platform.rest.TextPath;
import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.transport.forward.CallRouter.Route;
import dev.roundhouse.transport.forward.HttpRouter;
import io.grpc.Status;
import io.grpc.StatusException;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;

/** Routes one request of texts, by the model that its body names. For its event loop. */
final class TextRouter implements HttpRouter {
  /** JSON has no order: a client may write the model behind the texts. */
  private static final int KEPT_BYTES = 1 << 20;

  private final ModelRoutes routes;
  private final Workers workers;
  private final TextPath path;
  private final @Nullable CallerRights caller;

  TextRouter(ModelRoutes routes, Workers workers, TextPath path, @Nullable CallerRights caller) {
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
  public int keptBytes() {
    return KEPT_BYTES;
  }

  @Override
  public Route route(HttpHeaders headers, byte[] begin) throws StatusException {
    TextHead head =
        TextHead.read(begin, headers.get(HttpHeaderNames.CONTENT_ENCODING), path.texts());
    String model = head.model();
    if (model == null) {
      throw Status.INVALID_ARGUMENT
          .withDescription(
              "'model' is not among what a gateway reads of a body, %d bytes, or 65536 of a compressed one; name the model before '%s'"
                  .formatted(KEPT_BYTES, path.texts()))
          .asException();
    }
    if (caller != null) {
      caller.infer(model);
    }
    return InferRouter.traced(
        routes, headers, routes.route(new RequestHead(model, "", "", head.rows())));
  }

  @Override
  public @Nullable Route second(Route first, HttpHeaders headers, byte[] body) {
    return ((RouteAttempt) first).hedge();
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

package dev.roundhouse.gateway.rest;

import dev.roundhouse.gateway.config.GatewayProperties;
import dev.roundhouse.gateway.fleet.WorkerLink;
import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.gateway.route.ModelRoutes;
import dev.roundhouse.gateway.route.ModelRoutes.WorkerRoute;
import dev.roundhouse.gateway.route.RequestHead;
import io.grpc.Status;
import io.grpc.StatusException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpResponse;
import org.apache.catalina.connector.ClientAbortException;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;

/**
 * Inference over HTTP, passed on to the worker that gets it. A worker that cannot answer is
 * followed by another when the whole body is here, and nothing was answered yet.
 */
@RestController
final class InferProxy {
  private static final String JSON_LENGTH = "Inference-Header-Content-Length";

  private final ModelRoutes routes;
  private final Workers workers;
  private final WorkerHttp http;
  private final long maxBodyBytes;

  InferProxy(ModelRoutes routes, Workers workers, WorkerHttp http, GatewayProperties properties) {
    this.routes = routes;
    this.workers = workers;
    this.http = http;
    maxBodyBytes = properties.server().maxMessageSize().toBytes();
  }

  @PostMapping("/v2/models/{name}/infer")
  void infer(@PathVariable String name, HttpServletRequest request, HttpServletResponse response)
      throws IOException, StatusException {
    infer(name, "", request, response);
  }

  @PostMapping("/v2/models/{name}/versions/{version}/infer")
  void infer(
      @PathVariable String name,
      @PathVariable String version,
      HttpServletRequest request,
      HttpServletResponse response)
      throws IOException, StatusException {
    try (BodyHead body =
        BodyHead.read(request.getInputStream(), request.getContentLengthLong(), maxBodyBytes)) {
      infer(name, version, body, request, response);
    }
  }

  private void infer(
      String name,
      String version,
      BodyHead body,
      HttpServletRequest request,
      HttpServletResponse response)
      throws IOException, StatusException {
    RequestHead head =
        RestHead.read(
            name,
            version,
            body.bytes(),
            jsonLength(request),
            request.getHeader(HttpHeaders.CONTENT_ENCODING));
    WorkerRoute route = routes.route(head);
    Status end = Status.CANCELLED;
    try {
      while (true) {
        HttpResponse<InputStream> answer = null;
        Status status;
        try {
          answer = http.send(request, worker(route).worker().http(), body.publisher());
          status = status(answer.statusCode());
        } catch (ClientAbortException e) {
          throw e;
        } catch (IOException e) {
          body.requireWithin(maxBodyBytes);
          status = Status.UNAVAILABLE.withDescription(unreachable(route, e)).withCause(unseen(e));
        }
        WorkerRoute other = status.isOk() || !body.isWhole() ? null : route.other(status);
        if (other == null) {
          end = status;
          if (answer == null) {
            throw status.asException();
          }
          WorkerHttp.answer(answer, response);
          return;
        }
        if (answer != null) {
          answer.body().close();
        }
        route = other;
      }
    } finally {
      route.ended(end);
    }
  }

  private WorkerLink worker(WorkerRoute route) throws IOException {
    return workers
        .worker(route.worker())
        .orElseThrow(() -> new IOException("the worker is none any more"));
  }

  private static String unreachable(WorkerRoute route, IOException failure) {
    String why = failure.getMessage();
    return "worker '%s' cannot be reached: %s"
        .formatted(route.worker(), why == null ? failure.getClass().getSimpleName() : why);
  }

  /** Routes know by it whether the worker may have begun. */
  private static IOException unseen(IOException failure) {
    return failure instanceof HttpConnectTimeoutException
        ? new ConnectException(failure.getMessage())
        : failure;
  }

  private static int jsonLength(HttpServletRequest request) {
    try {
      return request.getIntHeader(JSON_LENGTH);
    } catch (NumberFormatException e) {
      return -1; // the worker says so
    }
  }

  /** As far as it matters for whether another is asked. */
  private static Status status(int code) {
    return switch (HttpStatus.resolve(code)) {
      case SERVICE_UNAVAILABLE -> Status.UNAVAILABLE;
      case NOT_FOUND -> Status.NOT_FOUND;
      case null, default -> Status.OK;
    };
  }
}

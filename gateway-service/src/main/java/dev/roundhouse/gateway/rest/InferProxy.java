package dev.roundhouse.gateway.rest;

import dev.roundhouse.gateway.config.GatewayProperties;
import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.gateway.route.ModelRoutes;
import dev.roundhouse.gateway.route.RequestHead;
import dev.roundhouse.platform.rest.ClientMemory;
import dev.roundhouse.transport.forward.ForwardingBudget;
import dev.roundhouse.transport.memory.PeerMemory;
import io.grpc.StatusException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.InputStream;
import java.net.http.HttpResponse;
import java.util.function.BooleanSupplier;
import org.springframework.http.HttpHeaders;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;

/**
 * Inference over HTTP, passed on to the worker that gets it. A worker that cannot answer is
 * followed by another, and one that takes long may be joined by one, when the whole body is here
 * and nothing was answered yet.
 */
@RestController
final class InferProxy {
  private static final String JSON_LENGTH = "Inference-Header-Content-Length";

  private final ModelRoutes routes;
  private final Workers workers;
  private final WorkerHttp http;
  private final ForwardingBudget memory;
  private final PeerMemory peers;
  private final long maxBodyBytes;

  InferProxy(
      ModelRoutes routes,
      Workers workers,
      WorkerHttp http,
      ForwardingBudget memory,
      PeerMemory peers,
      GatewayProperties properties) {
    this.routes = routes;
    this.workers = workers;
    this.http = http;
    this.memory = memory;
    this.peers = peers;
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
        BodyHead.read(
            request.getInputStream(),
            request.getContentLengthLong(),
            maxBodyBytes,
            memory,
            ClientMemory.of(peers, request))) {
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
    BooleanSupplier mayRunTwice =
        () ->
            !memory.isCrowded()
                && RestHead.mayRunTwice(
                    body.bytes(),
                    jsonLength(request),
                    request.getHeader(HttpHeaders.CONTENT_ENCODING));
    try (AskedWorkers asked =
        new AskedWorkers(request, body, workers, http, routes.route(head), mayRunTwice)) {
      HttpResponse<InputStream> answer = asked.answer(maxBodyBytes);
      try {
        WorkerHttp.answer(answer, response);
      } catch (IOException e) {
        asked.notPassedOn();
        throw e;
      }
    }
  }

  private static int jsonLength(HttpServletRequest request) {
    try {
      return request.getIntHeader(JSON_LENGTH);
    } catch (NumberFormatException e) {
      return -1; // the worker says so
    }
  }
}

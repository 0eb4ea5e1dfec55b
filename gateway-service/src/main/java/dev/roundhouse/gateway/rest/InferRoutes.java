package dev.roundhouse.gateway.rest;

import dev.roundhouse.gateway.fleet.WorkerTls;
import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.gateway.route.ModelRoutes;
import dev.roundhouse.kserve.codec.CallerHeader;
import dev.roundhouse.kserve.codec.SpentHeader;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.transport.forward.HttpForwarder;
import dev.roundhouse.transport.forward.HttpForwarding;
import dev.roundhouse.transport.http1.RequestRoutes;
import dev.roundhouse.transport.http1.RouteTarget;
import dev.roundhouse.transport.forward.ForwardingBudget;
import io.grpc.Status;
import io.netty.handler.ssl.SslContext;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Finds inference among requests over HTTP, and sends it on to workers. Thread-safe. */
public final class InferRoutes implements RequestRoutes {
  /** What a client is told whose body is too large. */
  public static final String REMEDY =
      "send less, or raise roundhouse.gateway.server.max-message-size";

  private final ModelRoutes routes;
  private final Workers workers;
  private final HttpForwarder forwarder;

  /**
   * @param memory that requests on their way may hold
   * @param maxBodyBytes of a request
   * @param silence of a worker's kernel, after which a connection is lost
   */
  public InferRoutes(
      ModelRoutes routes,
      Workers workers,
      ForwardingBudget memory,
      WorkerTls tls,
      long maxBodyBytes,
      Duration silence) {
    this.routes = routes;
    this.workers = workers;
    SslContext secret = tls.rest();
    forwarder =
        new HttpForwarder(
            new HttpForwarding(
                memory,
                maxBodyBytes,
                REMEDY,
                InferRoutes::code,
                new HttpForwarding.Headers(
                    CallerHeader.NAME, SpentHeader.NAME, WireException.BEGAN, WireException.ABOUT),
                secret == null ? null : new HttpForwarding.Tls(secret, tls.serverName()),
                silence));
  }

  private static int code(Status.Code code) {
    for (WireStatus known : WireStatus.values()) {
      if (known.grpcCode() == code.value()) {
        return known.httpCode();
      }
    }
    return WireStatus.UNKNOWN.httpCode();
  }

  @Override
  public @Nullable RouteTarget route(String method, String target) {
    if (!method.equals("POST")) {
      return null;
    }
    int query = target.indexOf('?');
    String[] parts = (query < 0 ? target : target.substring(0, query)).split("/", -1);
    boolean ofVersion = parts.length == 7 && parts[4].equals("versions");
    if (!(parts.length == 5 || ofVersion)
        || !parts[0].isEmpty()
        || !parts[1].equals("v2")
        || !parts[2].equals("models")
        || !parts[parts.length - 1].equals("infer")) {
      return null;
    }
    String model = decoded(parts[3]);
    String version = ofVersion ? decoded(parts[5]) : "";
    return model == null || version == null
        ? null
        : forwarder.request(new InferRouter(routes, workers, model, version));
  }

  /** What a part of a path means; null when it means nothing, or another place. */
  private static @Nullable String decoded(String part) {
    if (part.isEmpty() || part.equals(".") || part.equals("..") || part.indexOf(';') >= 0) {
      return null;
    }
    if (part.indexOf('%') < 0) {
      return part;
    }
    try {
      String text = URLDecoder.decode(part.replace("+", "%2B"), StandardCharsets.UTF_8);
      boolean plain = text.chars().noneMatch(c -> c < ' ' || c == '/' || c == '\\' || c == 0x7f);
      return plain && !text.equals(".") && !text.equals("..") ? text : null;
    } catch (IllegalArgumentException e) {
      return null;
    }
  }
}

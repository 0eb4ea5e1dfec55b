package dev.roundhouse.platform.rest;

import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.access.Credentials;
import dev.roundhouse.platform.audit.Audit;
import dev.roundhouse.platform.audit.Caller;
import dev.roundhouse.platform.grpc.LocalCalls;
import dev.roundhouse.platform.grpc.LocalClient;
import dev.roundhouse.platform.logging.AboutRequest;
import dev.roundhouse.platform.rest.ControlRoute.Answering;
import dev.roundhouse.platform.rest.ControlRoutes.Found;
import dev.roundhouse.transport.http1.Http1Settings.BodyLimits;
import dev.roundhouse.transport.http1.ReceivedRequest;
import dev.roundhouse.transport.http1.Reply;
import dev.roundhouse.transport.http1.RequestHandler;
import dev.roundhouse.transport.memory.ConnectionMemory;
import io.grpc.Attributes;
import io.grpc.Grpc;
import io.micrometer.observation.Observation;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.Set;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;

/**
 * One control request, on a virtual thread from its head or body to its answer. Every such request
 * of worker and gateway goes through {@link #answer}, with or without a route.
 */
final class ControlCall implements RequestHandler {
  private static final BodyLimits LIMITS =
      new BodyLimits(ControlRequest.MAX_BODY_BYTES, ControlRequest.REMEDY);
  private static final Set<String> READING = Set.of("GET", "HEAD", "OPTIONS", "TRACE");

  /** A POST that only reads. */
  private static final String INDEX = "/v2/repository/index";

  private final ControlRoutes routes;
  private final String method;
  private final String target;
  private final Found found;
  private volatile @Nullable LocalClient client;
  private volatile boolean isGone;

  ControlCall(ControlRoutes routes, String method, String target, Found found) {
    this.routes = routes;
    this.method = method;
    this.target = target;
    this.found = found;
  }

  @Override
  public @Nullable BodyLimits body(BodyLimits usual) {
    ControlRoute route = found.route();
    return route != null && route.readsBody() ? LIMITS : null;
  }

  @Override
  public void handle(ReceivedRequest request, Reply reply) {
    ControlRequest asked = new ControlRequest(found.parts(), target, request);
    try {
      Thread.ofVirtual().name("http-control").start(() -> answer(request, asked, reply));
    } catch (Throwable e) { // an Error too: the client would wait forever
      HttpFailure.tell(reply, routes.texts(), AboutRequest.UNKNOWN, e, form(), asked::close);
    }
  }

  @Override
  public void gone() {
    isGone = true;
    LocalClient asking = client;
    if (asking != null) {
      asking.gone();
    }
  }

  /** Answers it, counts it, and logs what it may have changed. */
  private void answer(ReceivedRequest request, ControlRequest asked, Reply reply) {
    Caller caller;
    Observation seen;
    LocalClient services;
    try {
      caller = new Caller(text(request.client()), method + " " + found.path());
      seen = routes.meters().begin(method);
      services = services(request, caller);
    } catch (Throwable e) { // an Error too: the client would wait forever
      HttpFailure.tell(reply, routes.texts(), AboutRequest.UNKNOWN, e, form(), asked::close);
      return;
    }
    Runnable over =
        () -> {
          services.close();
          asked.close();
        };
    int code;
    try (Caller.Scope scope = caller.enter()) {
      code = send(answer(asked, services), reply, over);
    } catch (IOException | RuntimeException | Error e) {
      code = HttpFailure.tell(reply, routes.texts(), AboutRequest.UNKNOWN, e, form(), over);
    }
    ControlRoute route = found.route();
    routes.meters().end(seen, code, route == null ? "" : route.template());
    if (mayChange(route) && code != Found.UNKNOWN) {
      Audit.ended(caller, "", "answered with " + code);
    }
  }

  private LocalClient services(ReceivedRequest request, Caller caller) {
    SocketAddress address = request.client();
    SSLSession session = request.session();
    Attributes.Builder attributes =
        Attributes.newBuilder()
            .set(LocalCalls.CALLER, caller)
            .set(
                LocalCalls.CREDENTIALS,
                new Credentials(
                    address,
                    session,
                    Credentials.joined(request.headers(HttpHeaders.AUTHORIZATION)),
                    Credentials.joined(request.headers(Access.SEALED_CALLER))))
            .set(ConnectionMemory.KEY, request.memory());
    if (address != null) {
      attributes.set(Grpc.TRANSPORT_ATTR_REMOTE_ADDR, address);
    }
    if (session != null) {
      attributes.set(Grpc.TRANSPORT_ATTR_SSL_SESSION, session);
    }
    LocalClient made = routes.services().client(attributes.build());
    client = made;
    if (isGone) {
      made.gone(); // it may have gone before there was anything to cancel
    }
    return made;
  }

  private ControlAnswer answer(ControlRequest asked, LocalClient services) {
    ControlRoute route = found.route();
    if (route == null) {
      return found.code() == Found.OK
          ? JsonAnswer.DONE
          : new JsonAnswer(
              found.code(),
              form().json(found.code(), HttpStatus.valueOf(found.code()).getReasonPhrase()));
    }
    Answering answering = route.answering();
    if (answering == null) {
      throw new IllegalStateException(route.template() + " is not answered here");
    }
    return answering.answer(asked, services);
  }

  private int send(ControlAnswer answer, Reply reply, Runnable over) throws IOException {
    reply.status(answer.code());
    String allowed = found.allowed();
    if (allowed != null) {
      reply.header(HttpHeaders.ALLOW, allowed);
    }
    answer.headers().forEach(reply::header);
    reply.length(answer.body().length);
    if (answer.body().length > 0) {
      reply.header(HttpHeaders.CONTENT_TYPE, answer.type());
      reply.body().write(answer.body());
    }
    reply.end(over);
    return answer.code();
  }

  private ErrorForm form() {
    return ErrorForm.of(found.path());
  }

  private boolean mayChange(@Nullable ControlRoute route) {
    return route != null && !READING.contains(method) && !route.template().equals(INDEX);
  }

  private static String text(@Nullable SocketAddress client) {
    return client instanceof InetSocketAddress known
        ? known.getAddress().getHostAddress() + ":" + known.getPort()
        : "unknown:0"; // it has gone
  }
}

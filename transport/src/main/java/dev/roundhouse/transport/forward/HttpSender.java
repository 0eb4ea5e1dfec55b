package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.transport.forward.CallRouter.Route;
import dev.roundhouse.transport.http1.StreamedRequest;
import io.grpc.Status;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.util.concurrent.ScheduledFuture;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Sends an HTTP request to the servers that {@link Attempts} chooses. For one event loop. */
final class HttpSender implements Attempts.Sender<HttpAttempt> {
  private static final int OK = 200;
  private static final int BAD_REQUEST = 400;
  private static final int NOT_FOUND = 404;
  private static final int TOO_MANY_REQUESTS = 429;
  private static final int UNAVAILABLE = 503;

  private final ForwardedRequest request;
  private final StreamedRequest client;
  private final HttpForwarding settings;
  private final HttpConnections connections;
  private final HttpRouter router;
  private final Attempts<HttpAttempt> attempts = new Attempts<>(this, System::nanoTime);
  private @Nullable ScheduledFuture<?> hedgeAlarm;

  HttpSender(
      ForwardedRequest request,
      StreamedRequest client,
      HttpForwarding settings,
      HttpConnections connections,
      HttpRouter router) {
    this.request = request;
    this.client = client;
    this.settings = settings;
    this.connections = connections;
    this.router = router;
  }

  /** Sends the request to its first server. */
  void begin(Route first) {
    if (request.kept().isWhole()) {
      attempts.whole();
    }
    attempts.begin(first);
  }

  /** The server that is asked or answers; null for none. */
  @Nullable HttpAttempt asked() {
    return attempts.asked();
  }

  /** The request is over; once. */
  void ended(Status status) {
    attempts.ended(status);
  }

  /** Leaves all servers that still answer. */
  void leave() {
    attempts.leave();
  }

  String nameOf(Route route) {
    return router.name(route);
  }

  // Sender.

  @Override
  public HttpAttempt attempt(Route route, boolean isAgain) {
    return new HttpAttempt(this, route, isAgain);
  }

  @Override
  public void send(HttpAttempt attempt) {
    InetSocketAddress server = router.address(attempt.route());
    if (server == null) {
      onLost(attempt, attempt.unknown());
      return;
    }
    attempt.begin(
        connections.take(client.loop(), server, attempt.isAgain()),
        head(server, attempts.spentNanos(), attempt.route().traceparent()));
    request.pace();
  }

  private HttpRequest head(
      InetSocketAddress server, long spentNanos, @Nullable String traceparent) {
    HttpRequest asked = client.head();
    HttpHeaders headers = HttpHeads.passedOn(asked.headers(), settings.headers());
    headers.set(HttpHeaderNames.HOST, HttpHeads.host(server));
    headers.setInt(settings.headers().caller(), client.memory().peerNumber());
    CallerRights caller = router.caller();
    String sealed = caller == null ? null : caller.sealed();
    if (sealed != null) {
      headers.remove(HttpHeaderNames.AUTHORIZATION);
      headers.set(settings.headers().sealed(), sealed);
    }
    if (spentNanos > 0) {
      headers.set(settings.headers().spent(), Long.toString(spentNanos));
    }
    if (traceparent != null) {
      headers.set("traceparent", traceparent);
    }
    KeptBody kept = request.kept();
    long length = kept.isWhole() ? kept.length() : client.length();
    if (length >= 0) {
      headers.set(HttpHeaderNames.CONTENT_LENGTH, Long.toString(length));
    } else {
      headers.set(HttpHeaderNames.TRANSFER_ENCODING, HttpHeaderValues.CHUNKED);
    }
    return new DefaultHttpRequest(HttpVersion.HTTP_1_1, asked.method(), asked.uri(), headers);
  }

  /** The head has been sent. */
  void sendBody(HttpUpstream to) {
    request.sendTo(to);
  }

  @Override
  public boolean canBeSentAgain() {
    return request.canBeSent();
  }

  @Override
  public @Nullable Route second(HttpAttempt first) {
    return settings.memory().isCrowded()
        ? null
        : router.second(first.route(), client.head().headers(), request.kept().begin());
  }

  @Override
  public void hedgeAfter(long nanos) {
    hedgeAlarm =
        client
            .loop()
            .schedule(() -> request.guarded(attempts::hedgeIsDue), nanos, TimeUnit.NANOSECONDS);
  }

  @Override
  public void hedgeNoMore() {
    if (hedgeAlarm != null) {
      hedgeAlarm.cancel(false);
      hedgeAlarm = null;
    }
  }

  // Answers.

  void onHead(HttpAttempt by, HttpResponse answer) {
    request.guarded(() -> head(by, answer));
  }

  private void head(HttpAttempt by, HttpResponse answer) {
    Status status = status(answer);
    boolean keeps = answer.headers().contains(settings.headers().keeps());
    if (!attempts.said(by, status, keeps)) {
      by.forget();
      return;
    }
    if (answer.status().code() == OK) {
      attempts.answering();
    }
    request.answer(status, answer);
  }

  /** The status as far as it decides whether another is asked. */
  private Status status(HttpResponse answer) {
    Refusal refusal = Refusal.read(answer.headers().get(settings.headers().refusal()));
    return switch (answer.status().code()) {
      case UNAVAILABLE -> Status.UNAVAILABLE.withCause(refusal);
      case BAD_REQUEST ->
          refusal == Refusal.OF_MODEL
              ? Status.FAILED_PRECONDITION.withCause(refusal)
              : Status.OK; // the client's fault at any server
      case NOT_FOUND -> Status.NOT_FOUND.withCause(refusal);
      case TOO_MANY_REQUESTS -> Status.RESOURCE_EXHAUSTED;
      default -> Status.OK;
    };
  }

  void onData(ByteBuf data) {
    request.pass(data);
  }

  void onReadComplete() {
    request.flush();
  }

  void onEnd() {
    request.passEnd();
  }

  void onWritableChanged() {
    request.pace();
  }

  void onLost(HttpAttempt by, Status status) {
    request.guarded(
        () -> {
          if (attempts.lost(by, status)) {
            request.end(status);
          }
        });
  }
}

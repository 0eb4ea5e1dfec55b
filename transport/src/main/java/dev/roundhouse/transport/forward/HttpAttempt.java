package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.forward.CallRouter.Route;
import dev.roundhouse.transport.forward.HttpUpstream.Loss;
import dev.roundhouse.transport.forward.LostCall.Fault;
import dev.roundhouse.transport.forward.LostCall.Seen;
import io.grpc.Status;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import java.net.ConnectException;
import org.jspecify.annotations.Nullable;

/** One server that an HTTP request is sent to, and its answer. For one event loop. */
final class HttpAttempt implements Attempts.Attempt, HttpUpstream.Answers {
  private final HttpSender of;
  private final Route route;
  private final boolean isAgain;
  private @Nullable HttpRequest head;
  private @Nullable HttpUpstream upstream;

  HttpAttempt(HttpSender of, Route route, boolean isAgain) {
    this.of = of;
    this.route = route;
    this.isAgain = isAgain;
  }

  @Override
  public Route route() {
    return route;
  }

  @Override
  public boolean isAgain() {
    return isAgain;
  }

  /** Sends a request once there is a connection. */
  void begin(HttpUpstream by, HttpRequest request) {
    upstream = by;
    head = request;
    by.begin(this);
    if (by.isConnected()) {
      onConnected();
    }
  }

  @Override
  public void onConnected() {
    HttpUpstream to = upstream;
    HttpRequest request = head;
    if (to != null && request != null) {
      head = null;
      to.send(request);
      of.sendBody(to);
    }
  }

  /** The connection; null when the attempt has ended. */
  @Nullable HttpUpstream upstream() {
    return upstream;
  }

  /** True when the server is connected and takes more of the request. */
  boolean isWritable() {
    return upstream != null && head == null && upstream.isWritable();
  }

  /** False until the request's head has been sent. */
  boolean isBegun() {
    return upstream != null && head == null;
  }

  /** Resumes or pauses reading of the answer. */
  void read(boolean wanted) {
    if (upstream != null) {
      upstream.read(wanted);
    }
  }

  @Override
  public void leave() {
    HttpUpstream left = upstream;
    upstream = null;
    if (left != null) {
      left.leave();
    }
  }

  /** Discards its answer, which has begun to arrive. */
  void forget() {
    HttpUpstream left = upstream;
    upstream = null;
    if (left != null) {
      left.forget();
    }
  }

  @Override
  public void onWritableChanged() {
    of.onWritableChanged();
  }

  @Override
  public void onHead(HttpResponse answer) {
    of.onHead(this, answer);
  }

  @Override
  public void onData(ByteBuf data) {
    of.onData(data);
  }

  @Override
  public void onReadComplete() {
    of.onReadComplete();
  }

  @Override
  public void onEnd() {
    upstream = null;
    of.onEnd();
  }

  @Override
  public void onLost(Loss loss, String why) {
    upstream = null;
    of.onLost(this, lost(loss, why));
  }

  /** Status for the route, and for the client when no other server is asked. */
  Status lost(Loss loss, String why) {
    String text = of.nameOf(route) + " cannot be reached: " + why;
    return Status.UNAVAILABLE.withDescription(text).withCause(cause(loss, text));
  }

  /**
   * A server that has closed a kept connection has most probably not seen the request. If it is
   * then gone, the request may still have caused that.
   */
  private Throwable cause(Loss loss, String text) {
    return switch (loss) {
      case UNREACHED ->
          isAgain ? new LostCall(text, Seen.MAYBE, Fault.SERVERS) : new ConnectException(text);
      case KEPT_CLOSED -> new LostCall(text, Seen.NO, Fault.SERVERS);
      case MAYBE_BEGUN -> new LostCall(text, Seen.MAYBE, Fault.SERVERS);
    };
  }

  /** The router no longer knows its server's address. */
  Status unknown() {
    String text = of.nameOf(route) + " cannot be reached: the worker is none any more";
    return LostCall.status(text, Seen.NO, Fault.NOBODYS);
  }
}

package dev.roundhouse.transport.http1;

import org.jspecify.annotations.Nullable;

/** Answers one request when all of it has come. */
public non-sealed interface RequestHandler extends RouteTarget {

  /**
   * What the body of this request may hold; null when it is not wanted: then {@link #handle} is
   * called with none as soon as the head has come, and what comes of it is forgotten.
   *
   * @param usual of the server
   */
  default Http1Settings.@Nullable BodyLimits body(Http1Settings.BodyLimits usual) {
    return usual;
  }

  /**
   * The whole request has come. Called once, on the connection's event loop, which must not be
   * blocked: what takes long goes to another thread. The reply is ended or aborted later, by any
   * thread.
   */
  void handle(ReceivedRequest request, Reply reply);

  /**
   * The client has gone before the reply was ended or aborted; nothing of it is sent any more, and
   * it is to be ended or aborted all the same. Called once at most, after {@link #handle}, on the
   * event loop.
   */
  void gone();
}

package dev.roundhouse.transport.http1;

import org.jspecify.annotations.Nullable;

/** Answers one request once all of it has arrived. */
public non-sealed interface RequestHandler extends RouteTarget {

  /**
   * Limits of this request's body; null when it is not wanted: {@link #handle} is then called
   * without it as soon as the head has arrived, and the body is discarded.
   *
   * @param usual the server's limits
   */
  default Http1Settings.@Nullable BodyLimits body(Http1Settings.BodyLimits usual) {
    return usual;
  }

  /**
   * The whole request has arrived. Called once, on the connection's event loop, which must not be
   * blocked: long work goes to another thread. Any thread may end or abort the reply later.
   */
  void handle(ReceivedRequest request, Reply reply);

  /**
   * The client left before the reply was ended or aborted. Nothing more is sent, but the reply must
   * still be ended or aborted. Called at most once, after {@link #handle}, on the event loop.
   */
  void gone();
}

package dev.roundhouse.transport.http1;

/** Answers one request when all of it has come. */
public non-sealed interface RequestHandler extends RouteTarget {

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

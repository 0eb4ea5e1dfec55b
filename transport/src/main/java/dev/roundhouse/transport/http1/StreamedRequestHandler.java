package dev.roundhouse.transport.http1;

import io.netty.buffer.ByteBuf;

/**
 * Answers one request whose body it takes as it arrives. Called on the connection's event loop,
 * which must not be blocked.
 */
public non-sealed interface StreamedRequestHandler extends RouteTarget {

  /**
   * The head has arrived. A client that waits for 100 Continue gets it when this returns without an
   * answer. Called once, first.
   *
   * @param request may be answered at any time from here on, on the event loop
   */
  void begin(StreamedRequest request);

  /**
   * Part of the body has arrived. Not called after the answer has ended.
   *
   * @param data owned by the handler; may be empty
   * @param last whether it is the end of the body
   */
  void body(ByteBuf data, boolean last);

  /** Whether the client reads its answer has changed: {@link StreamedRequest#isWritable}. */
  void writableChanged();

  /**
   * The client is gone, or has stopped sending its body: no answer reaches it. Called at most once,
   * and not after the answer has ended.
   */
  void gone();
}

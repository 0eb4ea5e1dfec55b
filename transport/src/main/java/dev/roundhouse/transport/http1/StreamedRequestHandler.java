package dev.roundhouse.transport.http1;

import io.netty.buffer.ByteBuf;

/**
 * Answers one request, whose body it takes as it comes. Called on the connection's event loop,
 * which must not be blocked.
 */
public non-sealed interface StreamedRequestHandler extends RouteTarget {

  /**
   * The head has come; a body that waits to be asked for is asked for when this returns without an
   * answer. Called once, first.
   *
   * @param request may be answered at any time from here on, on the event loop
   */
  void begin(StreamedRequest request);

  /**
   * Part of the body has come. Not called once the answer has ended.
   *
   * @param data taken; may be empty
   * @param last whether it is the end of the body
   */
  void body(ByteBuf data, boolean last);

  /** The client takes what it is answered, or does not: {@link StreamedRequest#isWritable}. */
  void writableChanged();

  /**
   * The client has gone, or sends no more of its body: nothing that is answered reaches it. Called
   * once at most, and not when the answer has ended.
   */
  void gone();
}

package dev.roundhouse.transport.forward;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaders;

/**
 * Takes copies of what passes of one call or request: it is told of each part, and bounds what it
 * keeps. What it throws ends the copy, not the call; it is then told of the end, too. On the event
 * loop of the client's connection.
 */
public interface PassingCopy {

  /**
   * A part of the request, as the client has sent it.
   *
   * @param part borrowed; its indices are not to be moved
   */
  void request(ByteBuf part);

  /** The client has sent all of it. */
  void requestEnd();

  /** An answer over HTTP begins. */
  default void answerHead(int code, HttpHeaders headers) {}

  /**
   * A part of the answer.
   *
   * @param part borrowed; its indices are not to be moved
   */
  void answer(ByteBuf part);

  /**
   * The one end.
   *
   * @param answered whether the call was answered, and all of the answer has passed
   */
  void end(boolean answered);
}

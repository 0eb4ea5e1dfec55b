package dev.roundhouse.transport.http1;

import io.netty.handler.codec.http.HttpContent;

/** One request on its way. For the event loop. */
interface Exchange {
  /** The next part of the request, which is taken. */
  void content(HttpContent content);

  /** True when the last part has come. */
  boolean isReceived();

  /** True when part of the answer may have left. */
  boolean isAnswering();

  /** The client has gone. Called once. */
  void gone();

  /** The client has stopped sending the request. */
  void stalled(String text);

  /** The client takes what it is answered, or does not. */
  default void clientWritable(boolean writable) {}
}

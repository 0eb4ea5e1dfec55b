package dev.roundhouse.transport.http1;

import io.netty.handler.codec.http.HttpContent;

/** One request in progress. For the event loop. */
interface Exchange {
  /** The next part of the request; takes ownership. */
  void content(HttpContent content);

  /** True when the last part has arrived. */
  boolean isReceived();

  /** True when part of the answer may have been sent. */
  boolean isAnswering();

  /** The client is gone. Called once. */
  void gone();

  /** The client has stopped sending the request. */
  void stalled(String text);

  /** Whether the client reads its answer has changed. */
  default void clientWritable(boolean writable) {}
}

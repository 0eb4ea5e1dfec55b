package dev.roundhouse.transport.http2;

import io.netty.handler.codec.http2.Http2Headers;

/** Takes calls that are for other servers. Called on event loops: it must not block. */
public interface CallForwarder {

  /** True when calls of a method are sent on. Others are this server's own. */
  boolean forwards(String method);

  /**
   * Begins to send a call on.
   *
   * @param method that {@link #forwards} has taken
   * @param timeoutNanos that the client waits; {@link Long#MAX_VALUE} for as long as it takes
   * @return what hears of the stream
   */
  StreamListener open(ServerStream stream, String method, Http2Headers request, long timeoutNanos);

  /**
   * What a client may send to a stream before it is known whose it is.
   *
   * @param mostBytes that it may ever send before it hears that they were read
   */
  int firstWindowBytes(int mostBytes);
}

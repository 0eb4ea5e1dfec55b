package dev.roundhouse.transport.http2;

import io.netty.handler.codec.http2.Http2Headers;

/** Takes calls for other servers. Called on event loops: must not block. */
public interface CallForwarder {

  /** True when calls of a method are forwarded. Others are answered here. */
  boolean forwards(String method);

  /**
   * Begins to forward a call.
   *
   * @param method that {@link #forwards} has taken
   * @param timeoutNanos that the client waits; {@link Long#MAX_VALUE} for no limit
   * @return the stream's listener
   * @throws io.grpc.StatusRuntimeException what the call ends with instead
   */
  StreamListener open(ServerStream stream, String method, Http2Headers request, long timeoutNanos);

  /**
   * What a client may send to a stream before it is known who takes it.
   *
   * @param mostBytes that it may ever send before they are acknowledged as read
   */
  int firstWindowBytes(int mostBytes);
}

package dev.roundhouse.transport.http2;

import io.grpc.Status;
import io.netty.buffer.ByteBuf;

/** What a {@link ServerStream} carries. Called on the event loop of its connection. */
public interface StreamListener {

  /**
   * Takes data, as long as the answer has no end.
   *
   * @param data borrowed
   * @param endOfStream whether the client sends no more
   * @return false when the client is not to send as much again before {@link ServerStream#readOn}
   */
  boolean received(ByteBuf data, boolean endOfStream);

  /** The client sends no more, and has said so with headers. */
  void endOfStream();

  /** True when the client is to send the rest of a message, or of a request that is one message. */
  boolean awaitsClient();

  /** How much has come of what is awaited, for people. */
  String progress();

  /** True when a stream that carries nothing has something to wait for. */
  boolean isBusy();

  /** Ends the call in the place of whoever answers it; nothing when its answer has an end. */
  void end(Status status);

  /** The stream is about to be reset: its client does not read what it was answered. */
  void givenUp(Status status);

  /**
   * The end of the answer has left, or never will.
   *
   * @param sent whether it has left
   */
  void ended(boolean sent);

  /**
   * The client has reset the stream, the connection is gone, or both sides have ended.
   *
   * @param ends whether {@link #ended} is told, or was
   */
  void closed(boolean ends);
}

package dev.roundhouse.transport.http2;

import io.grpc.Status;
import io.netty.buffer.ByteBuf;

/** Handles what a {@link ServerStream} carries. Called on the connection's event loop. */
public interface StreamListener {

  /**
   * Takes data, as long as the answer has no end.
   *
   * @param data borrowed
   * @param endOfStream whether the client sends no more
   * @return false when it counts as read only at {@link ServerStream#readOn}
   */
  boolean received(ByteBuf data, boolean endOfStream);

  /** The client has ended its side with headers. */
  void endOfStream();

  /** True when the client has yet to send the rest of a message, or of a single-message request. */
  boolean awaitsClient();

  /** How much of what is awaited has arrived, as text. */
  String progress();

  /** True when a stream that carries nothing has something to wait for. */
  boolean isBusy();

  /** Ends the call in place of the service; no effect when its answer has an end. */
  void end(Status status);

  /** The stream is about to be reset: its client does not read what it was answered. */
  void givenUp(Status status);

  /**
   * The end of the answer has been sent, or never will be.
   *
   * @param sent whether it has been sent
   */
  void ended(boolean sent);

  /**
   * The client has reset the stream, the connection is gone, or both sides have ended.
   *
   * @param ends whether {@link #ended} is called, or was
   */
  void closed(boolean ends);
}

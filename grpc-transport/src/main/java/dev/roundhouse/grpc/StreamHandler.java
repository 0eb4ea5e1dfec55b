package dev.roundhouse.grpc;

import io.netty.buffer.ByteBuf;

/** What a stream's frames go to. On the event loop of its connection. */
interface StreamHandler {

  /**
   * Takes a frame's data.
   *
   * @param data borrowed
   * @param padding bytes that count and carry nothing
   * @return how many of all bytes the client may send again; the others are counted as read later
   */
  int receive(ByteBuf data, int padding, boolean endOfStream);

  /** The client has ended its side with headers. */
  void endOfStream();

  /** The stream is over, or the connection is gone. */
  void streamClosed();

  /** Ends the call when part of a message has arrived and nothing of the rest since then. */
  void endIfStalled(long sinceNanos);
}

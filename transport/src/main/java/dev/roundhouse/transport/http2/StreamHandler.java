package dev.roundhouse.transport.http2;

import io.netty.buffer.ByteBuf;

/** What a stream's frames go to. On the event loop of its connection. */
public interface StreamHandler {

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

  /** The client has reset the stream, or the connection is gone. */
  void streamClosed();

  /** The client allows so many bytes more to be sent. */
  void allowed(int bytes);

  /**
   * Ends the call when it waits for the rest of a message, or of a request that is one message, and
   * its client does not send it.
   *
   * @return true when it was ended
   */
  boolean endIfArrivalStalled(long nowNanos, long timeoutNanos);

  /**
   * Gives the call up when its client does not read what it was answered.
   *
   * @return true when it was given up
   */
  boolean endIfDepartureStalled(long nowNanos, long timeoutNanos);

  /**
   * Ends the call when it is a stream that has carried nothing for so long, and waits for nothing.
   *
   * @return true when it was ended
   */
  boolean endIfIdle(long nowNanos, long timeoutNanos);
}

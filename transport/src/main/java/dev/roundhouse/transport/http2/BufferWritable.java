package dev.roundhouse.transport.http2;

import java.nio.ByteBuffer;

/**
 * A message that writes itself without an intermediate byte array. The stream that a marshaller
 * makes of a response may be one.
 */
public interface BufferWritable {
  /** Size of the whole message. */
  int byteSize();

  /** How many of the bytes are lent, sent from where they are. */
  int lentBytes();

  /** Hands over all bytes, in order. */
  void writeTo(Sink sink);

  /** Takes a message. */
  interface Sink {
    /** Takes a copy of bytes, from position to limit; their position moves. */
    void copy(ByteBuffer bytes);

    /**
     * Takes bytes without a copy; they are used until sent or dropped.
     *
     * @param bytes direct, from position to limit; must not change until then
     * @param sent run once, by any thread
     */
    void lend(ByteBuffer bytes, Runnable sent);
  }
}

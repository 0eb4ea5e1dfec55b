package dev.roundhouse.transport.http2;

import java.nio.ByteBuffer;

/**
 * A message that writes itself where it is sent from. The stream that a marshaller makes of a
 * response may be one: then no array of bytes comes between.
 */
public interface BufferWritable {
  /** Of the whole message. */
  int byteSize();

  /** How many of them are lent, where they are sent from as they are. */
  int lentBytes();

  /** Hands all bytes over, in order. */
  void writeTo(Sink sink);

  /** Takes a message. */
  interface Sink {
    /** Takes a copy of bytes, from position to limit; their position moves. */
    void copy(ByteBuffer bytes);

    /**
     * Takes bytes that stay where they are until they have been sent, or never will be.
     *
     * @param bytes direct, from position to limit; nobody changes them until then
     * @param sent run once, by any thread
     */
    void lend(ByteBuffer bytes, Runnable sent);
  }
}

package dev.roundhouse.grpc;

import java.nio.ByteBuffer;

/**
 * A message that writes itself where it is sent from. The stream that a marshaller makes of a
 * response may be one: then no array of bytes comes between.
 */
public interface BufferWritable {
  /** Of the whole message. */
  int byteSize();

  /**
   * Writes all bytes.
   *
   * @param target with as much room at least, in the order of the network
   */
  void writeTo(ByteBuffer target);
}

package dev.roundhouse.transport.forward;

import io.grpc.Status;
import io.grpc.StatusException;
import io.netty.buffer.ByteBuf;

/** Finds where the messages of a forwarded stream begin and end. For one event loop. */
final class MessageBounds {
  private static final int PREFIX_BYTES = 5;

  private final int maxMessageBytes;
  private long prefix;
  private int prefixBytes;
  private long left;

  MessageBounds(int maxMessageBytes) {
    this.maxMessageBytes = maxMessageBytes;
  }

  /**
   * Looks at the next data, without moving its indices.
   *
   * @return how many messages end in it
   * @throws StatusException RESOURCE_EXHAUSTED when a message is larger than allowed
   */
  int look(ByteBuf data) throws StatusException {
    int messages = 0;
    int at = data.readerIndex();
    int end = data.writerIndex();
    while (at < end) {
      if (prefixBytes < PREFIX_BYTES) {
        prefix = prefix << 8 | data.getUnsignedByte(at++);
        if (++prefixBytes == PREFIX_BYTES) {
          begin();
        }
      }
      long passed = Math.min(left, end - at);
      at += (int) passed;
      left -= passed;
      if (prefixBytes == PREFIX_BYTES && left == 0) {
        prefixBytes = 0;
        prefix = 0;
        messages++;
      }
    }
    return messages;
  }

  private void begin() throws StatusException {
    if (prefix >>> 33 != 0) {
      throw Status.INTERNAL
          .withDescription("gRPC frame header malformed: reserved bits not zero")
          .asException();
    }
    left = prefix & 0xffff_ffffL;
    if (left > maxMessageBytes) {
      throw Status.RESOURCE_EXHAUSTED
          .withDescription("gRPC message exceeds maximum size " + maxMessageBytes + ": " + left)
          .asException();
    }
  }

  /** Bytes of the message still to come. */
  long left() {
    return left;
  }

  /** True when part of a message has passed. */
  boolean isWithinMessage() {
    return prefixBytes > 0;
  }

  /** How much of the message is still to come, as text. */
  String progress() {
    return prefixBytes < PREFIX_BYTES
        ? prefixBytes + " bytes of its prefix have come"
        : left + " of its " + (prefix & 0xffff_ffffL) + " bytes are missing";
  }
}

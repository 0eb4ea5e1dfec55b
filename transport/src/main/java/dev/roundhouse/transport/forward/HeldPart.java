package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.http2.ServerStream;
import io.netty.buffer.ByteBuf;

/**
 * Part of a forwarded message, counted from its arrival until it is no longer used. For one event
 * loop.
 */
final class HeldPart implements ServerStream.Departure {
  private final ForwardingWindow of;
  private final ByteBuf data;
  private final int bytes;
  private int users = 1;
  private boolean passed;

  /**
   * @param data owned by this
   */
  HeldPart(ForwardingWindow of, ByteBuf data) {
    this.of = of;
    this.data = data;
    bytes = data.readableBytes();
  }

  ByteBuf data() {
    return data;
  }

  int bytes() {
    return bytes;
  }

  /** Adds a user. */
  HeldPart retain() {
    users++;
    return this;
  }

  /** Removes a user. */
  void release() {
    users--;
    if (users == 0) {
      data.release();
      of.free(bytes);
    }
  }

  /** To another server, it may leave again. */
  @Override
  public void left(int count, boolean sent) {
    if (sent && !passed) {
      passed = true;
      of.passed(bytes);
    }
    release();
  }
}

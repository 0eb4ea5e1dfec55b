package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.http2.ServerStream;
import io.netty.buffer.ByteBuf;

/**
 * Part of a forwarded message with a reference count: it is counted in the memory budget from its
 * arrival until its last user releases it. For one event loop.
 */
final class ForwardedChunk implements ServerStream.Departure {
  private final ForwardingWindow window;
  private final ByteBuf data;
  private final int bytes;
  private int users = 1;
  private boolean passed;

  /**
   * @param data owned by this
   */
  ForwardedChunk(ForwardingWindow window, ByteBuf data) {
    this.window = window;
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
  ForwardedChunk retain() {
    users++;
    return this;
  }

  /** Removes a user. */
  void release() {
    users--;
    if (users == 0) {
      data.release();
      window.free(bytes);
    }
  }

  /** Only the first time counts: it may be sent to several servers. */
  @Override
  public void left(int count, boolean sent) {
    if (sent && !passed) {
      passed = true;
      window.passed(bytes);
    }
    release();
  }
}

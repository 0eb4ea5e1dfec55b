package dev.roundhouse.transport.forward;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.Arrays;

/**
 * The beginning of a body, which decides to whom its request goes. A body that is no longer can be
 * sent to another server. For one event loop.
 */
final class KeptBody {
  /** As much as is looked at, and kept. */
  static final int MOST_BYTES = 64 << 10;

  private static final int FIRST_BYTES = 4 << 10;

  private byte[] bytes;
  private int length;
  private boolean isWhole;

  /**
   * @param announced bytes of the body; below 0 when it is not known
   */
  KeptBody(long announced) {
    bytes = new byte[announced < 0 ? FIRST_BYTES : bytesOf(announced)];
  }

  /** How much is kept of a body. */
  static int bytesOf(long announced) {
    return announced < 0 ? MOST_BYTES : (int) Math.min(announced, MOST_BYTES);
  }

  /**
   * Adds what there is room for.
   *
   * @param data moved through
   * @param last whether the body ends with it
   */
  void add(ByteBuf data, boolean last) {
    int count = Math.min(data.readableBytes(), MOST_BYTES - length);
    if (count > bytes.length - length) {
      bytes = Arrays.copyOf(bytes, Math.clamp(2L * bytes.length, length + count, MOST_BYTES));
    }
    data.readBytes(bytes, length, count);
    length += count;
    isWhole = last && !data.isReadable();
  }

  boolean isFull() {
    return length == MOST_BYTES;
  }

  /** True when it is all of the body. */
  boolean isWhole() {
    return isWhole;
  }

  int length() {
    return length;
  }

  /** No more is added; not to be changed. */
  byte[] begin() {
    if (bytes.length > length) {
      bytes = Arrays.copyOf(bytes, length);
    }
    return bytes;
  }

  /** To be sent. */
  ByteBuf data() {
    return Unpooled.wrappedBuffer(bytes, 0, length);
  }
}

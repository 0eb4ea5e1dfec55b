package dev.roundhouse.transport.forward;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.Arrays;

/**
 * The beginning of a body, by which its request is routed. A body that fits can be sent to another
 * server. For one event loop.
 */
final class KeptBody {
  /** The most that is looked at, and kept, of most bodies. */
  static final int MOST_BYTES = 64 << 10;

  private static final int FIRST_BYTES = 4 << 10;

  private final int most;
  private byte[] bytes;
  private int length;
  private boolean isWhole;

  /**
   * @param announced bytes of the body; negative when unknown
   * @param most that is kept
   */
  KeptBody(long announced, int most) {
    this.most = most;
    bytes = new byte[announced < 0 ? FIRST_BYTES : bytesOf(announced, most)];
  }

  /** How much is kept of a body. */
  static int bytesOf(long announced, int most) {
    return announced < 0 ? most : (int) Math.min(announced, most);
  }

  /**
   * Adds what there is room for.
   *
   * @param data read as far as it is kept
   * @param last whether the body ends with it
   */
  void add(ByteBuf data, boolean last) {
    int count = Math.min(data.readableBytes(), most - length);
    if (count > bytes.length - length) {
      bytes = Arrays.copyOf(bytes, Math.clamp(2L * bytes.length, length + count, most));
    }
    data.readBytes(bytes, length, count);
    length += count;
    isWhole = last && !data.isReadable();
  }

  boolean isFull() {
    return length == most;
  }

  /** True when it is the whole body. */
  boolean isWhole() {
    return isWhole;
  }

  int length() {
    return length;
  }

  /** Ends adding; the result must not be changed. */
  byte[] begin() {
    if (bytes.length > length) {
      bytes = Arrays.copyOf(bytes, length);
    }
    return bytes;
  }

  /** A buffer for sending. */
  ByteBuf data() {
    return Unpooled.wrappedBuffer(bytes, 0, length);
  }
}

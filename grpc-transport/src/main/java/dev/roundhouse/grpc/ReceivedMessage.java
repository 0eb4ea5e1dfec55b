package dev.roundhouse.grpc;

import io.grpc.KnownLength;
import io.netty.buffer.ByteBuf;
import java.io.InputStream;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * The bytes of one message: a stream for marshallers that read one, and as they lie for those that
 * know better. Large ones are in pooled memory outside the heap. The call releases that when the
 * service has been told of the message, and of the end of the request where that is one message;
 * who needs the bytes longer retains them before. Read by one thread.
 */
public final class ReceivedMessage extends InputStream implements KnownLength {
  private final ByteBuffer bytes;
  private final @Nullable ByteBuf pooled;

  /**
   * @param bytes from position to limit
   * @param pooled the memory they are in, taken; null when the collector frees it
   */
  ReceivedMessage(ByteBuffer bytes, @Nullable ByteBuf pooled) {
    this.bytes = bytes;
    this.pooled = pooled;
  }

  /** What has not been read yet, from position to limit. */
  public ByteBuffer bytes() {
    return bytes;
  }

  /** True when there is nothing to release. */
  public boolean isCollected() {
    return pooled == null;
  }

  /** Keeps the bytes until {@link #release} has been called once more. Any thread. */
  public void retain() {
    if (pooled != null) {
      pooled.retain();
    }
  }

  /** Any thread. */
  public void release() {
    if (pooled != null) {
      pooled.release();
    }
  }

  @Override
  public int available() {
    return bytes.remaining();
  }

  @Override
  public int read() {
    return bytes.hasRemaining() ? bytes.get() & 0xff : -1;
  }

  @Override
  public int read(byte[] to, int offset, int length) {
    if (length == 0) {
      return 0;
    }
    if (!bytes.hasRemaining()) {
      return -1;
    }
    int count = Math.min(length, bytes.remaining());
    bytes.get(to, offset, count);
    return count;
  }

  @Override
  public long skip(long count) {
    int skipped = (int) Math.clamp(count, 0, bytes.remaining());
    bytes.position(bytes.position() + skipped);
    return skipped;
  }
}

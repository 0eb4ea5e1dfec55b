package dev.roundhouse.transport.http2;

import dev.roundhouse.transport.memory.MemoryBudget;
import io.grpc.KnownLength;
import io.netty.buffer.ByteBuf;
import java.io.InputStream;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * The bytes of one message: as a stream for marshallers that read one, and directly for those that
 * can use them. Large ones are in pooled memory outside the heap. The call releases that once the
 * service has been told of the message, and, for a single-message request, of its end; to use the
 * bytes longer, retain them before, and count them. Read by one thread.
 */
public final class ReceivedMessage extends InputStream implements KnownLength {
  /** A message besides its bytes: this object, its buffer, and its slot in the queue. */
  private static final int OBJECT_BYTES = 256;

  private final ByteBuffer bytes;
  private final @Nullable ByteBuf pooled;
  private final MemoryBudget budget;
  private long held;

  /**
   * @param bytes from position to limit
   * @param pooled their memory, now owned by this; null for memory that the collector frees
   * @param budget counts it while the call keeps it
   * @param held bytes already counted
   */
  ReceivedMessage(ByteBuffer bytes, @Nullable ByteBuf pooled, MemoryBudget budget, long held) {
    this.bytes = bytes;
    this.pooled = pooled;
    this.budget = budget;
    this.held = held;
  }

  /** An empty message. */
  static ReceivedMessage empty() {
    return new ReceivedMessage(ByteBuffer.allocate(0), null, MemoryBudget.UNLIMITED, 0);
  }

  /**
   * Counts the message, which has to wait, unless it is counted already.
   *
   * @return null when counted; otherwise why not
   */
  @Nullable String keep() {
    if (held > 0) {
      return null;
    }
    long needed = (long) bytes.limit() + OBJECT_BYTES; // it may have been read
    String refusal = budget.take(needed);
    held = refusal == null ? needed : 0;
    return refusal;
  }

  /** Stops counting it here: its handler counts it from now on. */
  void letGo() {
    if (held > 0) {
      budget.giveBack(held);
      held = 0;
    }
  }

  /** What has not been read, from position to limit. */
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

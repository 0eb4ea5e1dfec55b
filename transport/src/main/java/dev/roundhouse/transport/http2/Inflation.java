package dev.roundhouse.transport.http2;

import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.Kept;
import io.grpc.Decompressor;
import io.grpc.Status;
import io.grpc.StatusException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.io.IOException;
import java.io.InputStream;
import org.jspecify.annotations.Nullable;

/**
 * Decompresses one message, a step at a time, into memory that grows with the output and is counted
 * first. For one thread at a time.
 */
final class Inflation {
  /** Memory of zlib and its streams. */
  private static final int STATE_BYTES = 48 << 10;

  private static final int LEAST_BYTES = 1 << 10;

  /** Output of most messages as a multiple of the input. */
  private static final int LIKELY_RATIO = 4;

  private static final int GROWTH = 2;

  private final ReceivedMessage compressed;
  private final Decompressor with;
  private final ConnectionMemory memory;
  private final ByteBufAllocator allocator;
  private final int most;
  private @Nullable InputStream in;
  private @Nullable ByteBuf out;
  private long held;

  /**
   * @param compressed owned by this
   * @param most output bytes allowed
   */
  Inflation(
      ReceivedMessage compressed,
      Decompressor with,
      ConnectionMemory memory,
      ByteBufAllocator allocator,
      int most) {
    this.compressed = compressed;
    this.with = with;
    this.memory = memory;
    this.allocator = allocator;
    this.most = most;
  }

  /**
   * Decompresses further.
   *
   * @param bytes of output at most
   * @return whether all is decompressed
   * @throws StatusException when it is corrupt or too large; close it then
   */
  boolean step(int bytes) throws StatusException {
    try {
      InputStream from = begin();
      int left = bytes;
      while (left > 0) {
        ByteBuf to = out;
        if (to == null || !to.isWritable()) {
          if (to != null && to.capacity() == most) {
            return isAtEnd(from);
          }
          to = grow(to);
        }
        int more = to.writeBytes(from, Math.min(left, to.writableBytes()));
        if (more < 0) {
          return true;
        }
        left -= more;
      }
      return false;
    } catch (IOException e) {
      throw Status.INVALID_ARGUMENT
          .withDescription(
              "the message is not compressed by %s: %s"
                  .formatted(with.getMessageEncoding(), e.getMessage()))
          .asException();
    }
  }

  private InputStream begin() throws IOException, StatusException {
    InputStream begun = in;
    if (begun == null) {
      take(STATE_BYTES);
      begun = with.decompress(compressed);
      in = begun;
    }
    return begun;
  }

  private boolean isAtEnd(InputStream from) throws IOException, StatusException {
    if (from.read() < 0) {
      return true;
    }
    throw Status.RESOURCE_EXHAUSTED
        .withDescription("Decompressed gRPC message exceeds maximum size " + most)
        .asException();
  }

  private ByteBuf grow(@Nullable ByteBuf full) throws StatusException {
    long wanted =
        full == null
            ? Math.max(LEAST_BYTES, (long) LIKELY_RATIO * compressed.available())
            : (long) GROWTH * full.capacity();
    int capacity =
        (int)
            Math.min(
                most, full == null ? Math.min(wanted, MessageAssembly.MAX_HEAP_BYTES) : wanted);
    take(capacity);
    ByteBuf larger;
    try {
      larger = allocator.directBuffer(capacity, capacity);
    } catch (OutOfMemoryError e) {
      throw Status.RESOURCE_EXHAUSTED
          .withDescription("there is no memory for a message of " + capacity + " bytes")
          .asException();
    }
    out = larger;
    if (full != null) {
      larger.writeBytes(full);
      int before = full.capacity();
      full.release();
      giveBack(before);
    }
    return larger;
  }

  private void take(long bytes) throws StatusException {
    String refusal = memory.take(Kept.INFLATED, bytes);
    if (refusal != null) {
      throw Status.RESOURCE_EXHAUSTED.withDescription(refusal).asException();
    }
    held += bytes;
  }

  private void giveBack(long bytes) {
    memory.giveBack(Kept.INFLATED, bytes);
    held -= bytes;
  }

  /** The message, once complete; counted until released. */
  ReceivedMessage finish() {
    ByteBuf whole = out;
    out = null;
    long bytes = whole == null ? 0 : whole.capacity();
    held -= bytes;
    close();
    return whole == null
        ? ReceivedMessage.empty()
        : new ReceivedMessage(
            whole.nioBuffer(0, whole.readableBytes()), whole, memory.of(Kept.INFLATED), bytes);
  }

  /** Releases everything. */
  void close() {
    if (in != null) {
      try {
        in.close();
      } catch (IOException e) {
        throw new IllegalStateException("memory could not be closed", e);
      }
      in = null;
    }
    if (out != null) {
      out.release();
      out = null;
    }
    compressed.letGo();
    compressed.release();
    memory.giveBack(Kept.INFLATED, held);
    held = 0;
  }
}

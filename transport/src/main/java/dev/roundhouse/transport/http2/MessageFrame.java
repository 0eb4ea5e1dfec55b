package dev.roundhouse.transport.http2;

import dev.roundhouse.transport.io.LentBuffer;
import io.grpc.Compressor;
import io.grpc.Drainable;
import io.grpc.KnownLength;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufOutputStream;
import io.netty.buffer.CompositeByteBuf;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/** Puts gRPC's prefix before an answer's message, in pooled memory. */
final class MessageFrame {
  private static final int PREFIX_BYTES = 5;

  private MessageFrame() {}

  /**
   * Encodes a message, with one copy if it knows its size, and none of what it lends.
   *
   * @param message closed in any case
   * @param compressor null to send it as it is
   * @return prefix and message, to be released
   * @throws RuntimeException what encoding the message throws; nothing is held then
   */
  static ByteBuf of(
      ByteBufAllocator allocator, InputStream message, @Nullable Compressor compressor) {
    try (InputStream bytes = message) {
      if (compressor == null && bytes instanceof BufferWritable writable) {
        return written(allocator, writable);
      }
      int size = compressor == null && bytes instanceof KnownLength ? bytes.available() : 0;
      return copied(allocator, bytes, size, compressor);
    } catch (IOException e) {
      throw new IllegalStateException("a message could not be encoded", e);
    }
  }

  private static ByteBuf written(ByteBufAllocator allocator, BufferWritable message) {
    int size = message.byteSize();
    Parts parts = new Parts(allocator, begun(allocator, size, size - message.lentBytes(), false));
    try {
      message.writeTo(parts);
      return parts.whole(size);
    } catch (Throwable e) {
      parts.release();
      throw e;
    }
  }

  /** Assembles a message from copied and lent bytes. */
  private static final class Parts implements BufferWritable.Sink {
    private final ByteBufAllocator allocator;
    private final ByteBuf copied;

    /** Null unless something is lent. */
    private @Nullable CompositeByteBuf all;

    Parts(ByteBufAllocator allocator, ByteBuf begun) {
      this.allocator = allocator;
      copied = begun;
    }

    @Override
    public void copy(ByteBuffer bytes) {
      copied.writeBytes(bytes);
    }

    @Override
    public void lend(ByteBuffer bytes, Runnable sent) {
      CompositeByteBuf parts = all == null ? allocator.compositeBuffer(Integer.MAX_VALUE) : all;
      all = parts;
      addCopied(parts);
      parts.addComponent(true, new LentBuffer(allocator, bytes.slice(), sent));
    }

    private void addCopied(CompositeByteBuf to) {
      if (copied.isReadable()) {
        to.addComponent(true, copied.readRetainedSlice(copied.readableBytes()));
      }
    }

    /** Prefix and message. */
    ByteBuf whole(int size) {
      ByteBuf whole = copied;
      if (all != null) {
        addCopied(all);
        whole = all;
      }
      if (whole.readableBytes() != PREFIX_BYTES + size) {
        throw new IllegalStateException(
            "a message of %d bytes wrote %d".formatted(size, whole.readableBytes() - PREFIX_BYTES));
      }
      if (all != null) {
        copied.release(); // its slices hold it
      }
      return whole;
    }

    void release() {
      copied.release();
      if (all != null) {
        all.release();
      }
    }
  }

  private static ByteBuf copied(
      ByteBufAllocator allocator,
      InputStream message,
      int likelySize,
      @Nullable Compressor compressor)
      throws IOException {
    ByteBuf framed = begun(allocator, likelySize, likelySize, compressor != null);
    OutputStream plain = new ByteBufOutputStream(framed);
    try (OutputStream out = compressor == null ? plain : compressor.compress(plain)) {
      if (message instanceof Drainable drainable) {
        drainable.drainTo(out);
      } else {
        message.transferTo(out);
      }
    } catch (Throwable e) {
      framed.release();
      throw e;
    }
    return framed.setInt(1, framed.readableBytes() - PREFIX_BYTES);
  }

  /**
   * @param size of the message, written in the prefix
   * @param room for it
   */
  private static ByteBuf begun(ByteBufAllocator allocator, int size, int room, boolean compressed) {
    return allocator.directBuffer(PREFIX_BYTES + room).writeByte(compressed ? 1 : 0).writeInt(size);
  }
}

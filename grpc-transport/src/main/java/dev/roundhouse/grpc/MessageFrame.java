package dev.roundhouse.grpc;

import io.grpc.Compressor;
import io.grpc.Drainable;
import io.grpc.KnownLength;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import org.jspecify.annotations.Nullable;

/** Puts a message that is answered behind the prefix that gRPC gives each, in pooled memory. */
final class MessageFrame {
  private static final int PREFIX_BYTES = 5;

  private MessageFrame() {}

  /**
   * Encodes a message, with one copy of it where it says its size.
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
    ByteBuf framed = begun(allocator, size, false);
    try {
      message.writeTo(framed.internalNioBuffer(PREFIX_BYTES, size));
      return framed.writerIndex(PREFIX_BYTES + size);
    } catch (Throwable e) {
      framed.release();
      throw e;
    }
  }

  private static ByteBuf copied(
      ByteBufAllocator allocator,
      InputStream message,
      int likelySize,
      @Nullable Compressor compressor)
      throws IOException {
    ByteBuf framed = begun(allocator, likelySize, compressor != null);
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

  private static ByteBuf begun(ByteBufAllocator allocator, int size, boolean compressed) {
    return allocator.directBuffer(PREFIX_BYTES + size).writeByte(compressed ? 1 : 0).writeInt(size);
  }
}

package dev.roundhouse.transport.forward;

import io.grpc.Decompressor;
import io.grpc.Status;
import io.grpc.StatusException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufInputStream;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The part of a forwarded call's first message that a router is shown. */
final class FirstMessage {
  /** The most that is shown. */
  static final int MOST_SHOWN_BYTES = 1 << 16;

  /** Decompressed at first: enough to decide in nearly all messages. */
  static final int FIRST_SHOWN_BYTES = 1 << 12;

  private static final int PREFIX_BYTES = 5;

  private FirstMessage() {}

  /** The beginning, without a copy where it is contiguous. */
  static ByteBuffer view(ByteBuf message) {
    int length = Math.min(message.readableBytes(), MOST_SHOWN_BYTES);
    if (message.nioBufferCount() == 1) {
      return message.nioBuffer(message.readerIndex(), length).asReadOnlyBuffer();
    }
    byte[] copy = new byte[length];
    message.getBytes(message.readerIndex(), copy);
    return ByteBuffer.wrap(copy).asReadOnlyBuffer();
  }

  /**
   * The decompressed part of what has arrived, up to {@code most} bytes.
   *
   * @param with the decompressor; null for an uncompressed call
   */
  static ByteBuffer uncompressed(ByteBuf message, @Nullable Decompressor with, int most)
      throws StatusException {
    if (with == null) {
      throw Status.INTERNAL
          .withDescription("Can't decode compressed gRPC message as compression not configured")
          .asException();
    }
    byte[] out = new byte[most];
    int length = 0;
    try (InputStream in = with.decompress(new ByteBufInputStream(message.duplicate()))) {
      for (int more = 0; more >= 0 && length < out.length; length += Math.max(0, more)) {
        more = in.read(out, length, out.length - length);
      }
    } catch (EOFException e) {
      // The rest has not arrived.
    } catch (IOException e) {
      throw Status.INVALID_ARGUMENT
          .withDescription(
              "the message is not compressed by %s: %s"
                  .formatted(with.getMessageEncoding(), e.getMessage()))
          .asException();
    }
    return ByteBuffer.wrap(out, 0, length).asReadOnlyBuffer();
  }

  /**
   * The whole message, valid while the stream is open.
   *
   * @param parts of the request, from the first on; borrowed
   */
  static InputStream stream(List<ForwardedChunk> parts) {
    CompositeByteBuf all = Unpooled.compositeBuffer(Math.max(1, parts.size()));
    parts.forEach(part -> all.addComponent(true, part.data().retainedDuplicate()));
    long length = all.getUnsignedInt(1);
    int here = (int) Math.min(length, all.readableBytes() - PREFIX_BYTES);
    return new ByteBufInputStream(all.skipBytes(PREFIX_BYTES), here, true);
  }
}

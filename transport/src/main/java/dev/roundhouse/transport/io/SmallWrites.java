package dev.roundhouse.transport.io;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.util.concurrent.Future;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Copies small writes into one until they are flushed. Netty's encoder writes an answer in four
 * pieces, each with a place in the socket's queue and one in the kernel's call, which cost more
 * than to copy it. What was copied is let go of when it has left, as everything else that is
 * written: it is counted until then. For one event loop.
 */
public final class SmallWrites extends ChannelOutboundHandlerAdapter {
  /** Larger ones are not copied. */
  static final int LARGEST = 1 << 13;

  private static final int FIRST_BYTES = 256;
  private static final int MOST_BYTES = 1 << 16;

  private @Nullable Gathered gathered;

  /** What was written together last. */
  private int expected;

  /** Nobody flushes any more. */
  private boolean removed;

  @Override
  public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
    if (removed || !(message instanceof ByteBuf data) || data.readableBytes() > LARGEST) {
      writeGathered(ctx);
      ctx.write(message, promise);
      return;
    }
    Gathered to = gathered;
    if (to != null && to.bytes.maxWritableBytes() < data.readableBytes()) {
      writeGathered(ctx);
      to = null;
    }
    try {
      if (to == null) {
        to = new Gathered(ctx.alloc().directBuffer(Math.max(FIRST_BYTES, expected), MOST_BYTES));
        gathered = to;
      }
      to.copy(data);
    } catch (OutOfMemoryError e) { // as it is, then
      writeGathered(ctx);
      ctx.write(data, promise);
      return;
    }
    to.add(data, promise);
  }

  @Override
  public void flush(ChannelHandlerContext ctx) {
    writeGathered(ctx);
    ctx.flush();
  }

  /** What has not been flushed never leaves. Who hears of that may write again. */
  @Override
  public void handlerRemoved(ChannelHandlerContext ctx) {
    removed = true;
    writeGathered(ctx);
  }

  private void writeGathered(ChannelHandlerContext ctx) {
    Gathered all = gathered;
    if (all != null) {
      gathered = null;
      expected = all.bytes.readableBytes();
      ctx.write(all.bytes).addListener(all::left);
    }
  }

  /** What is written together. */
  private static final class Gathered {
    /** Grows with what is written, so that who does not read holds little. */
    private final ByteBuf bytes;

    private final List<ByteBuf> copied = new ArrayList<>();
    private final List<ChannelPromise> promises = new ArrayList<>();

    Gathered(ByteBuf bytes) {
      this.bytes = bytes;
    }

    void copy(ByteBuf data) {
      bytes.writeBytes(data, data.readerIndex(), data.readableBytes());
    }

    /** Takes what was copied. */
    void add(ByteBuf data, ChannelPromise promise) {
      copied.add(data);
      promises.add(promise);
    }

    /** It has been written, or never will be. */
    void left(Future<?> written) {
      for (int i = 0; i < copied.size(); i++) {
        copied.get(i).release();
      }
      for (int i = 0; i < promises.size(); i++) {
        if (written.isSuccess()) {
          promises.get(i).trySuccess();
        } else {
          promises.get(i).tryFailure(written.cause());
        }
      }
    }
  }
}

package dev.roundhouse.http;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import org.jspecify.annotations.Nullable;

/**
 * Counts what comes by a connection, before anything is made of it; and sees that a few bytes do
 * not keep the large buffer that they were read into. For its event loop.
 */
final class Arrivals extends ChannelInboundHandlerAdapter {
  /** A buffer that may be kept for however little. */
  private static final int SMALL_BYTES = 4 << 10;

  /** By how much a buffer may be larger than what is in it. */
  private static final int SPARE = 4;

  private final RequestDecoder decoder;
  private @Nullable ChannelHandlerContext ctx;
  private long bytes;
  private int lastBufferBytes;

  Arrivals(RequestDecoder decoder) {
    this.decoder = decoder;
  }

  @Override
  public void handlerAdded(ChannelHandlerContext added) {
    ctx = added;
  }

  /** That have ever come. */
  long bytes() {
    return bytes;
  }

  /** Of the buffer that came last, which may be kept for what has not been understood yet. */
  int lastBufferBytes() {
    return lastBufferBytes;
  }

  /** No more is made of what comes than the next part. */
  void pause() {
    decoder.pause();
  }

  boolean isPaused() {
    return decoder.isPaused();
  }

  /** Makes requests of what has come meanwhile, and of what comes. */
  void resume() {
    if (ctx != null) {
      decoder.resume(ctx);
    }
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    if (message instanceof ByteBuf data) {
      bytes += data.readableBytes();
      ByteBuf fitted = fitted(context, data);
      lastBufferBytes = fitted.capacity();
      context.fireChannelRead(fitted);
    } else {
      context.fireChannelRead(message);
    }
  }

  private static ByteBuf fitted(ChannelHandlerContext context, ByteBuf data) {
    int length = data.readableBytes();
    if (data.capacity() <= SMALL_BYTES || data.capacity() / SPARE < length) {
      return data;
    }
    try {
      return context.alloc().directBuffer(length, length).writeBytes(data);
    } finally {
      data.release();
    }
  }
}

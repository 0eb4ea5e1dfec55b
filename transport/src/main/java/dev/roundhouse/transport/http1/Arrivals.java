package dev.roundhouse.transport.http1;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import org.jspecify.annotations.Nullable;

/**
 * Counts the bytes that arrive on a connection before they are decoded, and keeps a few waiting
 * bytes from holding the large buffer they were read into. For its event loop.
 */
final class Arrivals extends ChannelInboundHandlerAdapter {
  private final RequestDecoder decoder;
  private @Nullable ChannelHandlerContext ctx;
  private long bytes;

  Arrivals(RequestDecoder decoder) {
    this.decoder = decoder;
  }

  @Override
  public void handlerAdded(ChannelHandlerContext added) {
    ctx = added;
  }

  /** All bytes that have arrived. */
  long bytes() {
    return bytes;
  }

  /** Size of the latest head. */
  long headBytes() {
    return decoder.headBytes();
  }

  /** Size of the buffer kept for undecoded bytes; 0 when there is none. */
  int keptBufferBytes() {
    return decoder.keptBufferBytes();
  }

  /** Decodes no further than the next part. */
  void pause() {
    decoder.pause();
  }

  boolean isPaused() {
    return decoder.isPaused();
  }

  /** Decodes what has arrived meanwhile, and what arrives from now on. */
  void resume() {
    if (ctx != null) {
      decoder.resume(ctx);
    }
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    if (message instanceof ByteBuf data) {
      bytes += data.readableBytes();
    }
    context.fireChannelRead(message);
  }

  /**
   * The client sends no more. The decoder is not told: it would drop further requests waiting here.
   */
  @Override
  public void userEventTriggered(ChannelHandlerContext context, Object event) {
    if (event instanceof ChannelInputShutdownEvent) {
      context.pipeline().get(Http1Connection.class).inputEnded();
    } else {
      context.fireUserEventTriggered(event);
    }
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext context) {
    decoder.fit(context);
    context.fireChannelReadComplete();
  }
}

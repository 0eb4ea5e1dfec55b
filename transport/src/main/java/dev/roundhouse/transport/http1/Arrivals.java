package dev.roundhouse.transport.http1;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import org.jspecify.annotations.Nullable;

/**
 * Counts what comes by a connection, before anything is made of it; and sees that a few bytes that
 * have to wait do not keep the large buffer that they were read into. For its event loop.
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

  /** That have ever come. */
  long bytes() {
    return bytes;
  }

  /** Of the head that came last. */
  long headBytes() {
    return decoder.headBytes();
  }

  /** Of the buffer that is kept for what has not been understood yet; 0 when there is none. */
  int keptBufferBytes() {
    return decoder.keptBufferBytes();
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
    }
    context.fireChannelRead(message);
  }

  /**
   * The client sends no more. What waits here may hold further requests, so that the decoder is not
   * told: it would drop them.
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

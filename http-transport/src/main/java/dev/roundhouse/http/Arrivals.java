package dev.roundhouse.http;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;

/** Counts what comes by a connection, before anything is made of it. For its event loop. */
final class Arrivals extends ChannelInboundHandlerAdapter {
  private long bytes;

  /** That have ever come. */
  long bytes() {
    return bytes;
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object message) {
    if (message instanceof ByteBuf data) {
      bytes += data.readableBytes();
    }
    ctx.fireChannelRead(message);
  }
}

package dev.roundhouse.transport.io;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.DuplexChannel;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.ReferenceCountUtil;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Ends a connection whose peer may still be sending: closed at once, the system would answer what
 * comes with a reset, and what the peer was told would be lost with it. So our side is closed, what
 * comes is forgotten for a while, and then all is closed. Until then the connection is counted as
 * before. On its event loop.
 */
public final class StagedClose extends ChannelInboundHandlerAdapter {
  private final long mostBytes;
  private final long mostNanos;
  private long bytes;
  private @Nullable Future<?> end;

  private StagedClose(long mostBytes, long mostNanos) {
    this.mostBytes = mostBytes;
    this.mostNanos = mostNanos;
  }

  /**
   * To be called when all that the peer is told has been written to the system.
   *
   * @param mostBytes that are read and forgotten
   * @param mostNanos how long at most
   */
  public static void begin(Channel channel, long mostBytes, long mostNanos) {
    if (((DuplexChannel) channel).isInputShutdown()) {
      channel.close(); // nothing comes that could be forgotten
    } else if (channel.isActive() && channel.pipeline().get(StagedClose.class) == null) {
      channel.pipeline().addFirst(new StagedClose(mostBytes, mostNanos));
    }
  }

  @Override
  public void handlerAdded(ChannelHandlerContext ctx) {
    end = ctx.executor().schedule(() -> ctx.close(), mostNanos, TimeUnit.NANOSECONDS);
    SslHandler tls = ctx.pipeline().get(SslHandler.class);
    if (tls != null) { // its own end, before the socket's
      tls.closeOutbound().addListener(told -> closeOurs(ctx));
    } else {
      closeOurs(ctx);
    }
    ctx.channel().config().setAutoRead(true);
  }

  private static void closeOurs(ChannelHandlerContext ctx) {
    ((DuplexChannel) ctx.channel())
        .shutdownOutput()
        .addListener(ChannelFutureListener.CLOSE_ON_FAILURE);
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object message) {
    bytes += message instanceof ByteBuf data ? data.readableBytes() : 0;
    ReferenceCountUtil.release(message);
    if (bytes > mostBytes) {
      ctx.close();
    }
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext ctx) {}

  /** The peer has closed its side, on a connection that outlives this. */
  @Override
  public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
    if (event instanceof ChannelInputShutdownEvent) {
      ctx.close();
    }
  }

  @Override
  public void channelInactive(ChannelHandlerContext ctx) {
    if (end != null) {
      end.cancel(false);
    }
    ctx.fireChannelInactive();
  }
}

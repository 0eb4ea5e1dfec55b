package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.io.PartSizes;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.socket.nio.NioDomainSocketChannel;
import io.netty.channel.unix.DomainSocketAddress;
import java.net.SocketAddress;
import java.time.Duration;

/**
 * Connects to servers whose bytes are passed on as they are, over TCP or at a socket in the file
 * system. Immutable.
 */
public final class SpliceSockets {
  private static final int LEAST_READ = 1 << 10;
  private static final int FIRST_READ = 1 << 13;

  private final ServerSockets sockets;

  /**
   * @param silence of the other end's kernel, after which a connection is lost
   */
  public SpliceSockets(Duration silence) {
    sockets = new ServerSockets(silence, null);
  }

  /**
   * Connects on an event loop. Names are looked up on other threads.
   *
   * @param handler of the connection
   */
  public ChannelFuture connect(EventLoop loop, SocketAddress server, ChannelHandler handler) {
    Bootstrap made = server instanceof DomainSocketAddress ? local(loop) : sockets.bootstrap(loop);
    return made.option(ChannelOption.ALLOW_HALF_CLOSURE, true)
        .option(
            ChannelOption.RECVBUF_ALLOCATOR,
            new AdaptiveRecvByteBufAllocator(LEAST_READ, FIRST_READ, PartSizes.READ_BYTES))
        .handler(handler)
        .connect(server);
  }

  private static Bootstrap local(EventLoop loop) {
    return new Bootstrap()
        .group(loop)
        .channel(
            Epoll.isAvailable() ? EpollDomainSocketChannel.class : NioDomainSocketChannel.class)
        .option(ChannelOption.ALLOCATOR, PooledByteBufAllocator.DEFAULT)
        .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, ServerSockets.CONNECT_MILLIS);
  }
}

package dev.roundhouse.transport.forward;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollChannelOption;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.time.Duration;

/** How connections to the servers are made that requests are sent on to, over HTTP/1.1 and 2. */
final class ServerSockets {
  static final int CONNECT_MILLIS = 5_000;
  private static final int SILENT_PROBES = 4;

  private ServerSockets() {}

  /**
   * A connection on an event loop. Names are looked up on other threads.
   *
   * @param silence of the other end's kernel, after which the connection is lost: without it a
   *     request to a machine that is gone waits for a quarter of an hour. Pings of HTTP/2 would
   *     notice it too, but gRPC servers close connections that send them often.
   */
  static Bootstrap of(EventLoop loop, Duration silence) {
    boolean epoll = Epoll.isAvailable();
    Bootstrap made =
        new Bootstrap()
            .group(loop)
            .channel(epoll ? EpollSocketChannel.class : NioSocketChannel.class)
            .resolver(NameResolvers.INSTANCE)
            .option(ChannelOption.ALLOCATOR, PooledByteBufAllocator.DEFAULT)
            .option(ChannelOption.TCP_NODELAY, true)
            .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_MILLIS)
            .option(ChannelOption.SO_KEEPALIVE, true);
    if (epoll) {
      int seconds = (int) Math.max(1, silence.toSeconds() / SILENT_PROBES);
      made.option(EpollChannelOption.TCP_USER_TIMEOUT, Math.toIntExact(silence.toMillis()))
          .option(EpollChannelOption.TCP_KEEPIDLE, seconds)
          .option(EpollChannelOption.TCP_KEEPINTVL, seconds)
          .option(EpollChannelOption.TCP_KEEPCNT, SILENT_PROBES - 1);
    }
    return made;
  }
}

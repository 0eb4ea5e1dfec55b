package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.io.PartSizes;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.socket.nio.NioDomainSocketChannel;
import io.netty.channel.unix.DomainSocketAddress;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.function.BiFunction;
import java.util.function.Consumer;

/**
 * Connects to servers whose bytes are passed on as they are, over TCP or at a socket in the file
 * system. Immutable.
 */
public final class SpliceSockets {
  private static final int LEAST_READ = 1 << 10;
  private static final int FIRST_READ = 1 << 13;

  private final BiFunction<EventLoop, SocketAddress, Bootstrap> sockets;

  /**
   * @param silence of the other end's kernel, after which a connection is lost
   */
  public SpliceSockets(Duration silence) {
    ServerSockets tcp = new ServerSockets(silence, null);
    sockets =
        (loop, server) -> server instanceof DomainSocketAddress ? local(loop) : tcp.bootstrap(loop);
  }

  /**
   * @param sockets that are not connected, of an event loop and for a server
   */
  public SpliceSockets(BiFunction<EventLoop, SocketAddress, Bootstrap> sockets) {
    this.sockets = sockets;
  }

  /**
   * Connects on an event loop, which calls this. Names are looked up on other threads.
   *
   * @param handler of the connection
   * @param failed told why there is no connection, on the event loop and after this has returned
   * @return the connection's channel, to be closed only while it is open
   */
  public Channel connect(
      EventLoop loop, SocketAddress server, ChannelHandler handler, Consumer<Throwable> failed) {
    return ServerSockets.connected(
        loop,
        failed,
        sockets
            .apply(loop, server)
            .option(ChannelOption.ALLOW_HALF_CLOSURE, true)
            .option(
                ChannelOption.RECVBUF_ALLOCATOR,
                new AdaptiveRecvByteBufAllocator(LEAST_READ, FIRST_READ, PartSizes.READ_BYTES))
            .handler(handler)
            .connect(server));
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

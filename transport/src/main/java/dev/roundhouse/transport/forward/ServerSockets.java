package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.io.ReceiveBuffers;
import dev.roundhouse.transport.io.SmallWrites;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.EventLoop;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollChannelOption;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Connects to the servers that requests are forwarded to, over HTTP/1.1 and 2. Immutable.
 *
 * @param silence of the other end's kernel, after which the connection is lost: without it a
 *     request to a machine that is gone waits for a quarter of an hour. Pings of HTTP/2 would
 *     notice it too, but gRPC servers close connections that send them often.
 * @param tls null for plain text
 * @param connectMillis of one attempt
 */
record ServerSockets(Duration silence, @Nullable UpstreamTls tls, int connectMillis) {
  static final int CONNECT_MILLIS = 5_000;
  private static final int SILENT_PROBES = 4;

  ServerSockets(Duration silence, @Nullable UpstreamTls tls) {
    this(silence, tls, CONNECT_MILLIS);
  }

  /** The same with another limit for an attempt. */
  ServerSockets connectingWithin(int millis) {
    return new ServerSockets(silence, tls, millis);
  }

  /**
   * Connects on an event loop, which calls this. Names are looked up on other threads.
   *
   * @param protocol that both sides must agree on with TLS
   * @param handlers adds those of the protocol, before the connection is established or, with TLS,
   *     after the handshake
   * @param failed told why there is no connection, on the event loop and after this has returned;
   *     may be called twice
   * @return as of {@link #connected}
   */
  Channel connect(
      EventLoop loop,
      SocketAddress server,
      String protocol,
      Consumer<ChannelPipeline> handlers,
      Consumer<Throwable> failed) {
    Consumer<ChannelPipeline> all =
        pipeline -> handlers.accept(pipeline.addLast(new SmallWrites()));
    return connected(
        loop,
        failed,
        bootstrap(loop)
            .handler(
                new ChannelInitializer<Channel>() {
                  @Override
                  protected void initChannel(Channel channel) {
                    if (tls != null && server instanceof InetSocketAddress inet) {
                      tls.add(channel, inet, protocol, all, failed);
                      return;
                    }
                    channel.config().setRecvByteBufAllocator(new ReceiveBuffers());
                    all.accept(channel.pipeline());
                  }
                })
            .connect(server));
  }

  /**
   * Tells of a failure as {@link #connect} promises it. Where there was no descriptor for a socket,
   * Netty fails on a thread of its own, and where the loop does not take the channel at once.
   *
   * @return the connection's channel; one that is not open may have no event loop, and its {@code
   *     close} then throws
   */
  static Channel connected(EventLoop loop, Consumer<Throwable> failed, ChannelFuture connecting) {
    connecting.addListener(
        done -> {
          if (!done.isSuccess()) {
            loop.execute(() -> failed.accept(done.cause()));
          }
        });
    return connecting.channel();
  }

  /** Plain sockets, not connected. */
  Bootstrap bootstrap(EventLoop loop) {
    boolean epoll = Epoll.isAvailable();
    Bootstrap made =
        new Bootstrap()
            .group(loop)
            .channel(epoll ? EpollSocketChannel.class : NioSocketChannel.class)
            .resolver(NameResolvers.INSTANCE)
            .option(ChannelOption.ALLOCATOR, PooledByteBufAllocator.DEFAULT)
            .option(ChannelOption.TCP_NODELAY, true)
            .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, connectMillis)
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

package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.http2.FrameCutter;
import dev.roundhouse.transport.io.ReceiveBuffers;
import dev.roundhouse.transport.io.SmallWrites;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollChannelOption;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Connections to servers for forwarded calls: one for each server and event loop, made when first
 * needed, so that a call and its answer stay on one thread. They are closed with the event loop.
 * Thread-safe.
 */
final class UpstreamPool {
  private static final int CONNECT_MILLIS = 5_000;
  private static final int SILENT_PROBES = 4;

  private final Duration silence;
  private final @Nullable UpstreamTls tls;
  private final Map<EventLoop, Map<SocketAddress, UpstreamConnection>> loops =
      new ConcurrentHashMap<>();

  /**
   * @param silence of the other end's kernel, after which a connection is lost
   * @param tls null for plain text
   */
  UpstreamPool(Duration silence, @Nullable UpstreamTls tls) {
    this.silence = silence;
    this.tls = tls;
  }

  /**
   * This event loop's connection to a server; it may not be established yet.
   *
   * @param windowBytes that a new one may send of all answers unacknowledged
   */
  UpstreamConnection connection(EventLoop loop, SocketAddress address, int windowBytes) {
    Map<SocketAddress, UpstreamConnection> own =
        loops.computeIfAbsent(loop, unknown -> new HashMap<>());
    UpstreamConnection known = own.get(address);
    if (known != null && known.takesCalls()) {
      return known;
    }
    UpstreamConnection made = connect(loop, address, windowBytes, own);
    own.put(address, made);
    return made;
  }

  private UpstreamConnection connect(
      EventLoop loop,
      SocketAddress address,
      int windowBytes,
      Map<SocketAddress, UpstreamConnection> own) {
    UpstreamTls secret = tls;
    UpstreamConnection made =
        secret != null && address instanceof InetSocketAddress inet
            ? UpstreamConnection.to(name(address), "https", secret.authority(inet), windowBytes)
            : UpstreamConnection.to(name(address), "http", name(address), windowBytes);
    boolean epoll = Epoll.isAvailable();
    Bootstrap bootstrap =
        new Bootstrap()
            .group(loop)
            .channel(epoll ? EpollSocketChannel.class : NioSocketChannel.class)
            .option(ChannelOption.ALLOCATOR, PooledByteBufAllocator.DEFAULT)
            .option(ChannelOption.TCP_NODELAY, true)
            .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_MILLIS)
            .option(ChannelOption.SO_KEEPALIVE, true)
            .handler(
                new ChannelInitializer<Channel>() {
                  @Override
                  protected void initChannel(Channel channel) {
                    if (secret != null && address instanceof InetSocketAddress inet) {
                      secret.add(channel, inet, made, CONNECT_MILLIS);
                      return;
                    }
                    channel.config().setRecvByteBufAllocator(new ReceiveBuffers());
                    channel.pipeline().addLast(new SmallWrites(), FrameCutter.ofServer(), made);
                  }
                });
    if (epoll) {
      noticeSilence(bootstrap);
    }
    ChannelFuture connecting = bootstrap.connect(address);
    connecting.channel().closeFuture().addListener(closed -> own.remove(address, made));
    connecting.addListener(
        done -> {
          if (!done.isSuccess()) {
            made.notConnected(done.cause());
          }
        });
    return made;
  }

  /**
   * Makes the kernel drop a connection whose peer acknowledges nothing because a machine or a link
   * is gone. Otherwise a call waits for a quarter of an hour. HTTP/2 pings would notice it too, but
   * gRPC servers disconnect clients that ping often.
   */
  private void noticeSilence(Bootstrap bootstrap) {
    int seconds = (int) Math.max(1, silence.toSeconds() / SILENT_PROBES);
    bootstrap
        .option(EpollChannelOption.TCP_USER_TIMEOUT, Math.toIntExact(silence.toMillis()))
        .option(EpollChannelOption.TCP_KEEPIDLE, seconds)
        .option(EpollChannelOption.TCP_KEEPINTVL, seconds)
        .option(EpollChannelOption.TCP_KEEPCNT, SILENT_PROBES - 1);
  }

  private static String name(SocketAddress address) {
    return address instanceof InetSocketAddress inet
        ? inet.getHostString() + ":" + inet.getPort()
        : address.toString();
  }
}

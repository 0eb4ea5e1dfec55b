package dev.roundhouse.grpc;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Connections to the servers that calls are sent on to: one for each server and event loop, made
 * when it is first needed, so that a call and its answer stay on one thread. They are closed with
 * the event loop. Thread-safe.
 */
final class UpstreamPool {
  private static final int CONNECT_MILLIS = 5_000;

  private final int windowBytes;
  private final Map<EventLoop, Map<SocketAddress, UpstreamConnection>> loops =
      new ConcurrentHashMap<>();

  /**
   * @param windowBytes that a server may send before it hears that they were read
   */
  UpstreamPool(int windowBytes) {
    this.windowBytes = windowBytes;
  }

  /** The connection of this event loop to a server; it may not stand yet. */
  UpstreamConnection connection(EventLoop loop, SocketAddress address) {
    Map<SocketAddress, UpstreamConnection> own =
        loops.computeIfAbsent(loop, unknown -> new HashMap<>());
    UpstreamConnection known = own.get(address);
    if (known != null && known.takesCalls()) {
      return known;
    }
    UpstreamConnection made = connect(loop, address);
    own.put(address, made);
    return made;
  }

  private UpstreamConnection connect(EventLoop loop, SocketAddress address) {
    UpstreamConnection made = UpstreamConnection.to(name(address), windowBytes);
    boolean epoll = Epoll.isAvailable();
    ChannelFuture connecting =
        new Bootstrap()
            .group(loop)
            .channel(epoll ? EpollSocketChannel.class : NioSocketChannel.class)
            .option(ChannelOption.TCP_NODELAY, true)
            .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_MILLIS)
            .handler(
                new ChannelInitializer<Channel>() {
                  @Override
                  protected void initChannel(Channel channel) {
                    channel.config().setRecvByteBufAllocator(new ReceiveBuffers());
                    channel.pipeline().addLast(FrameCutter.ofServer(), made);
                  }
                })
            .connect(address);
    connecting.addListener(
        done -> {
          if (!done.isSuccess()) {
            made.notConnected(done.cause());
          }
        });
    return made;
  }

  private static String name(SocketAddress address) {
    return address instanceof InetSocketAddress inet
        ? inet.getHostString() + ":" + inet.getPort()
        : address.toString();
  }
}

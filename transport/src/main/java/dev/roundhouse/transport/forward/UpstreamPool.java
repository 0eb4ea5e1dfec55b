package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.http2.FrameCutter;
import dev.roundhouse.transport.io.ReceiveBuffers;
import dev.roundhouse.transport.io.SmallWrites;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoop;
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
    Bootstrap bootstrap =
        ServerSockets.of(loop, silence)
            .handler(
                new ChannelInitializer<Channel>() {
                  @Override
                  protected void initChannel(Channel channel) {
                    if (secret != null && address instanceof InetSocketAddress inet) {
                      secret.add(channel, inet, made, ServerSockets.CONNECT_MILLIS);
                      return;
                    }
                    channel.config().setRecvByteBufAllocator(new ReceiveBuffers());
                    channel.pipeline().addLast(new SmallWrites(), FrameCutter.ofServer(), made);
                  }
                });
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

  private static String name(SocketAddress address) {
    return address instanceof InetSocketAddress inet
        ? inet.getHostString() + ":" + inet.getPort()
        : address.toString();
  }
}

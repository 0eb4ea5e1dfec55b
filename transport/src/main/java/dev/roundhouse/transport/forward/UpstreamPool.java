package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.http2.FrameCutter;
import io.netty.channel.EventLoop;
import io.netty.handler.ssl.ApplicationProtocolNames;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Connections to servers for forwarded calls: one for each server and event loop, made when first
 * needed, so that a call and its answer stay on one thread. They are closed with the event loop.
 * Thread-safe.
 */
final class UpstreamPool {
  private final ServerSockets sockets;
  private final Map<EventLoop, Map<SocketAddress, UpstreamConnection>> loops =
      new ConcurrentHashMap<>();

  UpstreamPool(ServerSockets sockets) {
    this.sockets = sockets;
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
    UpstreamTls tls = sockets.tls();
    UpstreamConnection made =
        tls != null && address instanceof InetSocketAddress inet
            ? UpstreamConnection.to(name(address), "https", tls.authority(inet), windowBytes)
            : UpstreamConnection.to(name(address), "http", name(address), windowBytes);
    sockets
        .connect(
            loop,
            address,
            ApplicationProtocolNames.HTTP_2,
            pipeline -> pipeline.addLast(FrameCutter.ofServer(), made),
            why -> {
              own.remove(address, made);
              made.notConnected(why);
            })
        .closeFuture()
        .addListener(closed -> own.remove(address, made));
    return made;
  }

  private static String name(SocketAddress address) {
    return address instanceof InetSocketAddress inet
        ? inet.getHostString() + ":" + inet.getPort()
        : address.toString();
  }
}

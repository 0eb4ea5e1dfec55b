package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.http2.FrameCutter;
import io.netty.channel.EventLoop;
import io.netty.handler.ssl.ApplicationProtocolNames;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Connections to servers for forwarded calls: one for each server and event loop, made when first
 * needed, so that a call and its answer stay on one thread. They are closed with the event loop.
 * Thread-safe.
 *
 * <p>The longer the network was cut, the longer the kernel then waits before it sends again, and
 * with it all calls of the connection. So a connection on which nothing is acknowledged is replaced
 * as soon as a new one can be established.
 */
final class UpstreamPool {
  private static final Logger log = LoggerFactory.getLogger(UpstreamPool.class);

  /** Of a connection that is to replace another: often enough that it gets through soon. */
  private static final int REPLACING_MILLIS = 2_000;

  private static final long AGAIN_MILLIS = 100;

  private final ServerSockets sockets;
  private final ServerSockets replacing;
  private final Map<EventLoop, OfLoop> loops = new ConcurrentHashMap<>();

  UpstreamPool(ServerSockets sockets) {
    this.sockets = sockets;
    replacing = sockets.connectingWithin(REPLACING_MILLIS);
  }

  /**
   * This event loop's connection to a server; it may not be established yet.
   *
   * @param windowBytes that a new one may send of all answers unacknowledged
   */
  UpstreamConnection connection(EventLoop loop, SocketAddress address, int windowBytes) {
    return loops.computeIfAbsent(loop, OfLoop::new).connection(address, windowBytes);
  }

  /** One event loop's connections, by server. For that loop. */
  private final class OfLoop {
    private final EventLoop loop;
    private final Map<SocketAddress, UpstreamConnection> used = new HashMap<>();

    /** Those that will replace a silent one once they are established. */
    private final Map<SocketAddress, UpstreamConnection> coming = new HashMap<>();

    OfLoop(EventLoop loop) {
      this.loop = loop;
    }

    UpstreamConnection connection(SocketAddress address, int windowBytes) {
      UpstreamConnection known = used.get(address);
      if (known != null && known.takesCalls()) {
        if (known.isSilent()) {
          replace(address, known, windowBytes);
        }
        return known;
      }
      UpstreamConnection made = make(address, windowBytes);
      used.put(address, made);
      connect(sockets, address, made, () -> {});
      return made;
    }

    /** Until there is another connection, calls stay with the silent one. */
    private void replace(SocketAddress address, UpstreamConnection silent, int windowBytes) {
      if (coming.containsKey(address)) {
        return;
      }
      UpstreamConnection made = make(address, windowBytes);
      made.whenEstablished(
          () -> {
            coming.remove(address, made);
            if (used.replace(address, silent, made)) {
              silent.retire();
              log.info(
                  "{}: a new connection, as nothing was acknowledged on the last", name(address));
            } else {
              made.retire();
            }
          });
      Runnable again =
          () -> {
            if (used.get(address) == silent && silent.isSilent()) {
              replace(address, silent, windowBytes);
            }
          };
      connect(
          replacing,
          address,
          made,
          () -> {
            if (coming.remove(address, made) && !loop.isShuttingDown()) {
              var unused = loop.schedule(again, AGAIN_MILLIS, TimeUnit.MILLISECONDS);
            }
          });
      coming.put(address, made); // nothing is told before this turn of the loop is over
    }

    private void connect(
        ServerSockets by, SocketAddress address, UpstreamConnection made, Runnable failed) {
      by.connect(
              loop,
              address,
              ApplicationProtocolNames.HTTP_2,
              pipeline -> pipeline.addLast(FrameCutter.ofServer(), made),
              why -> {
                used.remove(address, made);
                made.notConnected(why);
                failed.run();
              })
          .closeFuture()
          .addListener(closed -> used.remove(address, made));
    }
  }

  private UpstreamConnection make(SocketAddress address, int windowBytes) {
    UpstreamTls tls = sockets.tls();
    return tls != null && address instanceof InetSocketAddress inet
        ? UpstreamConnection.to(name(address), "https", tls.authority(inet), windowBytes)
        : UpstreamConnection.to(name(address), "http", name(address), windowBytes);
  }

  private static String name(SocketAddress address) {
    return address instanceof InetSocketAddress inet
        ? inet.getHostString() + ":" + inet.getPort()
        : address.toString();
  }
}

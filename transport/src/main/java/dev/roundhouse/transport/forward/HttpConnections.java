package dev.roundhouse.transport.forward;

import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.ssl.ApplicationProtocolNames;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Connections to servers for forwarded HTTP requests, separate for each event loop. A connection
 * that stays open after an answer is kept for the next request, for less time than servers keep it.
 * Thread-safe; a loop's connections belong to that loop.
 */
final class HttpConnections {
  private static final HttpDecoderConfig LIMITS =
      new HttpDecoderConfig()
          .setMaxInitialLineLength(8 << 10)
          .setMaxHeaderSize(64 << 10)
          .setUseRfc9112TransferEncoding(true) // refused beside a length
          .setMaxChunkSize(64 << 10);

  /** Idle connections of one loop to one server. */
  private static final int MOST_IDLE = 64;

  /** Half of what our workers allow. */
  private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(30);

  private static final long LOOK_NANOS = TimeUnit.SECONDS.toNanos(5);

  private final ServerSockets sockets;
  private final Map<EventLoop, OfLoop> loops = new ConcurrentHashMap<>();

  HttpConnections(ServerSockets sockets) {
    this.sockets = sockets;
  }

  /**
   * A connection without a request; it may not be established yet.
   *
   * @param fresh whether it must not have had a request
   */
  HttpUpstream take(EventLoop loop, InetSocketAddress server, boolean fresh) {
    OfLoop own = loops.computeIfAbsent(loop, OfLoop::new);
    HttpUpstream kept = fresh ? null : own.take(server);
    return kept == null ? connect(own, server) : kept;
  }

  private HttpUpstream connect(OfLoop own, InetSocketAddress server) {
    HttpUpstream made = new HttpUpstream(connection -> own.keep(server, connection));
    Channel channel =
        sockets.connect(
            own.loop,
            server,
            ApplicationProtocolNames.HTTP_1_1,
            pipeline ->
                pipeline.addLast(made.hearing(), new HttpClientCodec(LIMITS, false, false), made),
            why -> made.notConnected(String.valueOf(why.getMessage())));
    made.connectingBy(channel);
    channel.closeFuture().addListener(closed -> own.remove(server, made));
    return made;
  }

  /** One event loop's idle connections, by server. For that loop. */
  private static final class OfLoop {
    private final EventLoop loop;

    /** Last in, first out: surplus connections grow old. */
    private final Map<InetSocketAddress, Deque<HttpUpstream>> idle = new HashMap<>();

    private boolean looking;

    OfLoop(EventLoop loop) {
      this.loop = loop;
    }

    @Nullable HttpUpstream take(InetSocketAddress server) {
      Deque<HttpUpstream> kept = idle.get(server);
      if (kept == null) {
        return null;
      }
      HttpUpstream last = kept.pollFirst();
      while (last != null && !last.isOpen()) {
        last = kept.pollFirst();
      }
      return last;
    }

    void keep(InetSocketAddress server, HttpUpstream connection) {
      Deque<HttpUpstream> kept = idle.computeIfAbsent(server, unknown -> new ArrayDeque<>());
      kept.addFirst(connection);
      if (kept.size() > MOST_IDLE) {
        kept.removeLast().close();
      }
      if (!looking) {
        looking = true;
        lookLater();
      }
    }

    void remove(InetSocketAddress server, HttpUpstream connection) {
      Deque<HttpUpstream> kept = idle.get(server);
      if (kept != null) {
        kept.remove(connection);
      }
    }

    private void lookLater() {
      var unused = loop.schedule(this::closeOld, LOOK_NANOS, TimeUnit.NANOSECONDS);
    }

    private void closeOld() {
      long now = System.nanoTime();
      for (Iterator<Deque<HttpUpstream>> all = idle.values().iterator(); all.hasNext(); ) {
        Deque<HttpUpstream> kept = all.next();
        while (!kept.isEmpty() && now - kept.peekLast().idleSinceNanos() >= IDLE_NANOS) {
          kept.removeLast().close();
        }
        if (kept.isEmpty()) {
          all.remove();
        }
      }
      looking = !idle.isEmpty();
      if (looking) {
        lookLater();
      }
    }
  }
}

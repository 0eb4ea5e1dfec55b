package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.io.PartSizes;
import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.ssl.ApplicationProtocolNames;
import java.net.InetSocketAddress;
import java.time.Duration;
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
          .setMaxChunkSize(PartSizes.READ_BYTES);

  /** Idle connections of one loop to one server. */
  private static final int MOST_IDLE = 64;

  /** Looks for idle connections in the time that one may be idle. */
  private static final int LOOKS = 6;

  private final ServerSockets sockets;
  private final long idleNanos;
  private final Map<EventLoop, OfLoop> loops = new ConcurrentHashMap<>();

  HttpConnections(ServerSockets sockets, Duration idle) {
    this.sockets = sockets;
    idleNanos = idle.toNanos();
  }

  /**
   * A connection without a request; it may not be established yet.
   *
   * @param fresh whether it must not have had a request
   */
  HttpUpstream take(EventLoop loop, InetSocketAddress server, boolean fresh) {
    OfLoop own = loops.computeIfAbsent(loop, unknown -> new OfLoop(loop, idleNanos));
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
    channel.config().setWriteBufferWaterMark(PartSizes.WRITE_MARKS);
    made.connectingBy(channel);
    channel.closeFuture().addListener(closed -> own.remove(server, made));
    return made;
  }

  /** One event loop's idle connections, by server. For that loop. */
  private static final class OfLoop {
    private final EventLoop loop;
    private final long idleNanos;

    /** Last in, first out: surplus connections grow old. */
    private final Map<InetSocketAddress, Deque<HttpUpstream>> idle = new HashMap<>();

    private boolean looking;

    OfLoop(EventLoop loop, long idleNanos) {
      this.loop = loop;
      this.idleNanos = idleNanos;
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
      var unused = loop.schedule(this::closeOld, idleNanos / LOOKS, TimeUnit.NANOSECONDS);
    }

    private void closeOld() {
      long now = System.nanoTime();
      for (Iterator<Deque<HttpUpstream>> all = idle.values().iterator(); all.hasNext(); ) {
        Deque<HttpUpstream> kept = all.next();
        while (!kept.isEmpty() && now - kept.peekLast().idleSinceNanos() >= idleNanos) {
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

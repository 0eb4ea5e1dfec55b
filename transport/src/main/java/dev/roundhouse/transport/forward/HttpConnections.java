package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.io.ReceiveBuffers;
import dev.roundhouse.transport.io.SmallWrites;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.ssl.NotSslRecordException;
import io.netty.handler.ssl.SslHandler;
import java.net.InetSocketAddress;
import java.nio.channels.ClosedChannelException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * Connections to servers for forwarded HTTP requests, separate for each event loop. A connection
 * that stays open after an answer is kept for the next request, for less time than servers keep it.
 * Thread-safe; a loop's connections belong to that loop.
 */
final class HttpConnections {
  private static final int MOST_LINE_BYTES = 8 << 10;
  private static final int MOST_HEAD_BYTES = 64 << 10;
  private static final int MOST_CHUNK_BYTES = 64 << 10;

  /** Idle connections of one loop to one server. */
  private static final int MOST_IDLE = 64;

  /** Looks for idle connections in the time that one may be idle. */
  private static final int LOOKS = 6;

  private final HttpForwarding.@Nullable Tls tls;
  private final Duration silence;
  private final long idleNanos;
  private final Map<EventLoop, OfLoop> loops = new ConcurrentHashMap<>();

  HttpConnections(HttpForwarding.@Nullable Tls tls, Duration silence, Duration idle) {
    this.tls = tls;
    this.silence = silence;
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
    Bootstrap bootstrap =
        ServerSockets.of(own.loop, silence)
            .handler(
                new ChannelInitializer<Channel>() {
                  @Override
                  protected void initChannel(Channel channel) {
                    prepare(channel, server, made);
                  }
                });
    ChannelFuture connecting = bootstrap.connect(server);
    made.connectingBy(connecting.channel());
    connecting.channel().closeFuture().addListener(closed -> own.remove(server, made));
    connecting.addListener(
        done -> {
          if (!done.isSuccess()) {
            made.notConnected(String.valueOf(done.cause().getMessage()));
          } else if (tls == null) {
            made.connected();
          }
        });
    return made;
  }

  private void prepare(Channel channel, InetSocketAddress server, HttpUpstream made) {
    HttpForwarding.Tls secret = tls;
    if (secret == null) {
      channel.config().setRecvByteBufAllocator(new ReceiveBuffers());
    } else {
      String name = secret.serverName().isEmpty() ? server.getHostString() : secret.serverName();
      SslHandler handler = secret.context().newHandler(channel.alloc(), name, server.getPort());
      handler.setHandshakeTimeoutMillis(ServerSockets.CONNECT_MILLIS);
      channel.pipeline().addLast(handler);
      handler
          .handshakeFuture()
          .addListener(
              done -> {
                if (done.isSuccess()) {
                  made.connected();
                } else {
                  made.notConnected(text(done.cause()));
                  channel.close();
                }
              });
    }
    HttpDecoderConfig config =
        new HttpDecoderConfig()
            .setMaxInitialLineLength(MOST_LINE_BYTES)
            .setMaxHeaderSize(MOST_HEAD_BYTES)
            .setUseRfc9112TransferEncoding(true) // refused beside a length
            .setMaxChunkSize(MOST_CHUNK_BYTES);
    channel
        .pipeline()
        .addLast(
            new SmallWrites(), made.hearing(), new HttpClientCodec(config, false, false), made);
  }

  /** Why the TLS handshake failed. */
  private static String text(Throwable failure) {
    Throwable why = failure;
    while (why.getCause() instanceof SSLException deeper) {
      why = deeper;
    }
    return switch (why) {
      case NotSslRecordException plain -> "it does not speak TLS";
      case ClosedChannelException closed -> "it has closed the connection before both spoke TLS";
      default -> "TLS: " + why.getMessage();
    };
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

package dev.roundhouse.http;

import dev.roundhouse.grpc.EventLoops;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.FixedRecvByteBufAllocator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.ServerChannelRecvByteBufAllocator;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslHandler;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Listens for HTTP/1.1. Requests that {@link RequestRoutes} knows are answered on event loops, all
 * others by a server behind, one connection to it for each of a client's. Thread-safe.
 */
public final class Http1Server implements AutoCloseable {
  private static final int MAX_THREADS = 8;
  private static final int STOP_SECONDS = 5;

  /** As gRPC's: what a client may take until TLS is agreed on. */
  private static final long HANDSHAKE_MILLIS = 20_000;

  /** Read at once; a body's parts are handed on in these. */
  static final int READ_BYTES = 1 << 16;

  private final Http1Settings settings;
  private final Set<Channel> sockets = ConcurrentHashMap.newKeySet();
  private final CompletableFuture<Void> drained = new CompletableFuture<>();
  private @Nullable EventLoops loops;
  private volatile @Nullable Channel listening;
  private volatile boolean draining;

  public Http1Server(Http1Settings settings) {
    this.settings = settings;
  }

  /**
   * Begins to listen.
   *
   * @throws IOException when it cannot
   */
  public synchronized void start() throws IOException {
    if (loops != null) {
      throw new IllegalStateException("the server has been started");
    }
    int threads = Math.clamp(Runtime.getRuntime().availableProcessors(), 1, MAX_THREADS);
    EventLoops own = new EventLoops("http", threads, settings.failed());
    loops = own;
    ServerBootstrap bootstrap =
        own.bootstrap()
            .option(ChannelOption.SO_BACKLOG, settings.limits().backlog())
            .option(ChannelOption.RECVBUF_ALLOCATOR, oneByOne())
            .handler(new Accepting())
            .childOption(ChannelOption.RECVBUF_ALLOCATOR, new FixedRecvByteBufAllocator(READ_BYTES))
            .childHandler(new Accepted());
    listening = own.listen(bootstrap, settings.address());
  }

  /** Where it listens; negative before it does. */
  public int port() {
    Channel bound = listening;
    return bound != null && bound.localAddress() instanceof InetSocketAddress known
        ? known.getPort()
        : -1;
  }

  private static RecvByteBufAllocator oneByOne() {
    return new ServerChannelRecvByteBufAllocator().maxMessagesPerRead(1);
  }

  /** Has further connections wait while there are as many as there may be. */
  private final class Accepting extends ChannelInboundHandlerAdapter {
    /** Touched on the event loop that accepts, so that the last word is right. */
    private int open;

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object accepted) {
      Channel socket = (Channel) accepted;
      count(ctx, 1);
      socket
          .closeFuture()
          .addListener(
              closed -> {
                if (ctx.channel().isOpen()) {
                  ctx.executor().execute(() -> count(ctx, -1));
                }
              });
      ctx.fireChannelRead(socket);
    }

    private void count(ChannelHandlerContext ctx, int change) {
      open += change;
      ctx.channel().config().setAutoRead(open < settings.limits().maxConnections());
    }
  }

  /** Puts together what handles a socket that was accepted. */
  private final class Accepted extends ChannelInitializer<SocketChannel> {
    @Override
    protected void initChannel(SocketChannel socket) {
      sockets.add(socket);
      settings.load().connectionOpened();
      socket.closeFuture().addListener(closed -> leave(socket));
      ChannelPipeline pipeline = socket.pipeline();
      SslContext secured = settings.tls().get();
      if (secured != null) {
        SslHandler tls = secured.newHandler(socket.alloc());
        tls.setHandshakeTimeoutMillis(
            Math.clamp(
                TimeUnit.NANOSECONDS.toMillis(settings.times().silent()), 1, HANDSHAKE_MILLIS));
        pipeline.addLast(tls);
      }
      Arrivals arrivals = new Arrivals();
      int head = settings.limits().maxHeadBytes();
      pipeline.addLast(
          arrivals,
          new HttpServerCodec(
              new HttpDecoderConfig()
                  .setMaxInitialLineLength(head)
                  .setMaxHeaderSize(head)
                  .setUseRfc9112TransferEncoding(true) // beside a length it is refused
                  .setMaxChunkSize(READ_BYTES)),
          new Http1Connection(settings, arrivals, () -> draining));
    }
  }

  private void leave(Channel socket) {
    sockets.remove(socket);
    settings.load().connectionClosed();
    endIfDrained();
  }

  private void endIfDrained() {
    if (draining && sockets.isEmpty()) {
      drained.complete(null);
    }
  }

  /**
   * Stops listening, and closes each connection as soon as the request that it is at, or that is on
   * its way, has been answered.
   *
   * @return done when all are closed
   */
  public synchronized CompletableFuture<Void> drain() {
    draining = true;
    Channel bound = listening;
    if (bound != null) {
      bound.close().awaitUninterruptibly();
    }
    for (Channel socket : sockets) {
      Http1Connection connection = socket.pipeline().get(Http1Connection.class);
      if (connection != null) {
        socket.eventLoop().execute(connection::closeWhenIdle);
      }
    }
    endIfDrained();
    return drained;
  }

  /** Closes all connections, whatever they are at. */
  @Override
  public void close() {
    drain();
    sockets.forEach(Channel::close);
    synchronized (this) {
      if (loops != null) {
        loops.stop(STOP_SECONDS).awaitUninterruptibly();
      }
    }
  }
}

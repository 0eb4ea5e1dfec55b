package dev.roundhouse.transport.http1;

import dev.roundhouse.transport.io.EventLoops;
import dev.roundhouse.transport.io.PartSizes;
import dev.roundhouse.transport.io.Seldom;
import dev.roundhouse.transport.io.StagedClose;
import dev.roundhouse.transport.memory.ConnectionMemory;
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
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslHandler;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Listens for HTTP/1.1. Requests are read on event loops and answered by the handlers that {@link
 * RequestRoutes} names. Thread-safe.
 */
public final class Http1Server implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(Http1Server.class);
  private static final int MAX_THREADS = 8;
  private static final int STOP_SECONDS = 5;

  /** Same as gRPC's: time for the TLS handshake. */
  private static final long HANDSHAKE_MILLIS = 20_000;

  /**
   * Cost of a connection without a large request: handlers, decoder, the objects of a small head
   * and its exchange, and the last read.
   */
  private static final long CONNECTION_BYTES = 16 << 10;

  /** The same including TLS state. */
  private static final long TLS_BYTES = 96 << 10;

  /** Pause in accepting after the system has refused a connection. */
  private static final long REFUSED_MILLIS = 200;

  /** Between checks for room while a connection waits. */
  private static final long FULL_MILLIS = 50;

  /** Limits of lingering closes: connections at a time, bytes read of each, and time. */
  private static final int MOST_ENDING = 64;

  private static final long ENDING_BYTES = 64 << 20;
  static final long ENDING_NANOS = TimeUnit.SECONDS.toNanos(5);

  private static final Seldom WARNING = new Seldom();

  private final Http1Settings settings;
  private final Set<Channel> sockets = ConcurrentHashMap.newKeySet();
  private final CompletableFuture<Void> drained = new CompletableFuture<>();
  private @Nullable EventLoops loops;
  private volatile @Nullable Channel listening;

  /** Connections in a lingering close. */
  private final AtomicInteger ending = new AtomicInteger();

  private volatile boolean draining;
  private volatile boolean leaving;

  /** One connection above the limit has been accepted and waits. */
  private volatile boolean full;

  /** Connections that have ended and that are still counted as open. */
  private final AtomicInteger departing = new AtomicInteger();

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
            .childOption(ChannelOption.ALLOW_HALF_CLOSURE, true)
            .childOption(ChannelOption.WRITE_BUFFER_WATER_MARK, PartSizes.WRITE_MARKS)
            .childOption(
                ChannelOption.RECVBUF_ALLOCATOR,
                new FixedRecvByteBufAllocator(PartSizes.READ_BYTES))
            .childHandler(new Accepted());
    listening = own.listen(bootstrap, settings.address());
  }

  /** The port; negative before it listens. */
  public int port() {
    Channel bound = listening;
    return bound != null && bound.localAddress() instanceof InetSocketAddress known
        ? known.getPort()
        : -1;
  }

  private static RecvByteBufAllocator oneByOne() {
    return new ServerChannelRecvByteBufAllocator().maxMessagesPerRead(1);
  }

  /** Makes further connections wait while the limit is reached. */
  private final class Accepting extends ChannelInboundHandlerAdapter {
    /** Changed on the accepting event loop only, so that the latest value wins. */
    private int open;

    /** Accepted above the limit; it is not served until another ends. */
    private @Nullable Channel next;

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object accepted) {
      Channel socket = (Channel) accepted;
      if (open < settings.limits().maxConnections()) {
        admit(ctx, socket);
        return;
      }
      next = socket;
      full = true;
      ctx.channel().config().setAutoRead(false);
      makeRoomFor(ctx, socket);
    }

    /**
     * Retries until there is room: the connection to close may have begun a request, or be gone.
     */
    private void makeRoomFor(ChannelHandlerContext ctx, Channel socket) {
      if (next == socket) {
        offerRoom();
        var unused =
            ctx.executor()
                .schedule(() -> makeRoomFor(ctx, socket), FULL_MILLIS, TimeUnit.MILLISECONDS);
      }
    }

    private void admit(ChannelHandlerContext ctx, Channel socket) {
      open++;
      socket
          .closeFuture()
          .addListener(
              closed -> {
                departing.incrementAndGet(); // before it leaves the connections to choose from
                if (ctx.channel().isOpen()) {
                  ctx.executor().execute(() -> left(ctx));
                }
              });
      ctx.fireChannelRead(socket);
    }

    private void left(ChannelHandlerContext ctx) {
      open--;
      Channel waiting = next;
      if (waiting != null) {
        next = null;
        full = false;
        admit(ctx, waiting);
      }
      departing.decrementAndGet();
      ctx.channel().config().setAutoRead(true);
    }

    /** For example when the process has too many open files: closing connections free some. */
    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
      if (WARNING.isTime()) {
        log.warn("connections cannot be accepted; an idle one is closed for each", cause);
      }
      ctx.channel().config().setAutoRead(false);
      makeRoom(() -> true);
      var unused =
          ctx.executor()
              .schedule(
                  () -> ctx.channel().config().setAutoRead(next == null),
                  REFUSED_MILLIS,
                  TimeUnit.MILLISECONDS);
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
      Channel waiting = next;
      if (waiting != null) {
        next = null;
        full = false;
        waiting.unsafe().closeForcibly();
      }
      ctx.fireChannelInactive();
    }
  }

  /**
   * Closes a connection whose client may still be sending and has been told to stop; at once when
   * many are closing this way.
   */
  void endInStages(ChannelHandlerContext ctx) {
    if (draining || ending.incrementAndGet() > MOST_ENDING) {
      ending.decrementAndGet();
      ctx.close();
      return;
    }
    ctx.channel().closeFuture().addListener(closed -> ending.decrementAndGet());
    StagedClose.begin(ctx.channel(), ENDING_BYTES, ENDING_NANOS);
  }

  /** False when each answer is the last of its connection. */
  boolean keepsConnections() {
    return !draining && !leaving;
  }

  /**
   * From here on each answer closes its connection, so clients go elsewhere. Connections are
   * accepted until {@link #drain}.
   */
  public void leave() {
    leaving = true;
  }

  /** Lets in the connection that waits, if any, by closing an idle one. Any thread. */
  void offerRoom() {
    if (full) {
      makeRoom(() -> full);
    }
  }

  /**
   * Closes the connection that has been idle longest, if any; none when one is about to leave. One
   * whose client has begun a head is passed over: it would be chosen each time and never closed.
   *
   * @param isWanted asked again when it is known that none is about to leave
   */
  private void makeRoom(BooleanSupplier isWanted) {
    Runnable longest = null;
    long since = 0;
    for (Channel socket : sockets) {
      if (!socket.isActive()) {
        return;
      }
      Http1Connection connection = socket.pipeline().get(Http1Connection.class);
      if (connection != null && connection.end().isUnused()) {
        long idle = connection.end().idleSinceNanos();
        if (longest == null || idle - since < 0) {
          longest = () -> onLoop(socket, connection.end()::closeIfUnused);
          since = idle;
        }
      }
    }
    if (longest != null && departing.get() == 0 && isWanted.getAsBoolean()) {
      longest.run();
    }
  }

  /** Sets up the pipeline of an accepted socket. */
  private final class Accepted extends ChannelInitializer<SocketChannel> {
    @Override
    protected void initChannel(SocketChannel socket) {
      sockets.add(socket);
      settings.load().connectionOpened();
      socket.closeFuture().addListener(closed -> leave(socket));
      ChannelPipeline pipeline = socket.pipeline();
      SslContext secured = settings.tls().get();
      ConnectionMemory memory =
          settings
              .memory()
              .open(
                  socket.remoteAddress(),
                  secured == null ? CONNECTION_BYTES : TLS_BYTES,
                  () -> relieve(socket));
      if (memory == null) {
        log.debug("there is no memory for {}", socket.remoteAddress());
        socket.close();
        return;
      }
      socket.closeFuture().addListener(closed -> memory.close());
      if (secured != null) {
        SslHandler tls = secured.newHandler(socket.alloc());
        tls.setHandshakeTimeoutMillis(
            Math.clamp(
                TimeUnit.NANOSECONDS.toMillis(settings.times().silent()), 1, HANDSHAKE_MILLIS));
        pipeline.addLast(tls);
      }
      RequestDecoder decoder = new RequestDecoder(settings.limits().maxHeadBytes());
      Arrivals arrivals = new Arrivals(decoder);
      pipeline.addLast(
          arrivals, decoder, new Http1Connection(Http1Server.this, settings, arrivals, memory));
    }
  }

  private static void relieve(Channel socket) {
    onLoop(
        socket,
        () -> {
          Http1Connection connection = socket.pipeline().get(Http1Connection.class);
          if (connection != null) {
            connection.relieve();
          }
        });
  }

  private static void onLoop(Channel socket, Runnable task) {
    try {
      socket.eventLoop().execute(task);
    } catch (RejectedExecutionException e) {
      log.debug("the server has stopped", e);
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
   * Stops listening, and closes each connection once its current request, or one already sent, has
   * been answered.
   *
   * @return done when all are closed
   */
  public synchronized CompletableFuture<Void> drain() {
    draining = true;
    Channel bound = listening;
    if (loops != null && bound != null) {
      loops.endListening(bound).awaitUninterruptibly();
    }
    for (Channel socket : sockets) {
      Http1Connection connection = socket.pipeline().get(Http1Connection.class);
      if (connection != null) {
        onLoop(socket, connection.end()::closeWhenIdle);
      }
    }
    endIfDrained();
    return drained;
  }

  /** Closes all connections, busy or not. */
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

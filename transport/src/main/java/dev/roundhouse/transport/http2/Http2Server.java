package dev.roundhouse.transport.http2;

import dev.roundhouse.transport.io.EventLoops;
import dev.roundhouse.transport.io.ReceiveBuffers;
import dev.roundhouse.transport.io.SmallWrites;
import dev.roundhouse.transport.io.TlsFailures;
import dev.roundhouse.transport.memory.ConnectionMemory;
import io.grpc.Context;
import io.grpc.InternalServer;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.ApplicationProtocolNegotiationHandler;
import io.netty.handler.ssl.NotSslRecordException;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslHandler;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A gRPC server whose transport is {@link Connection}; see {@link Http2ServerBuilder}. */
final class Http2Server extends Server implements Connection.Server {
  private static final Logger log = LoggerFactory.getLogger(Http2Server.class);
  private static final int STOP_SECONDS = 5;

  /**
   * A connection without calls: its handlers, header tables of both sides, the beginning of a
   * frame; and native memory that the system's socket does not count.
   */
  private static final long CONNECTION_BYTES = 24 << 10;

  /** The same including TLS state. */
  private static final long TLS_BYTES = 96 << 10;

  private final SocketAddress address;
  private final int threads;
  private final ServerSettings settings;
  private final List<ServerServiceDefinition> services;
  private final CallOpener opener;
  private final Set<Connection> connections = ConcurrentHashMap.newKeySet();

  /** Accepted sockets, including those in a handshake. */
  private final Set<Channel> sockets = ConcurrentHashMap.newKeySet();

  /** Streams of all connections, including calls that may still be refused. */
  private final AtomicInteger calls = new AtomicInteger();

  private final CountDownLatch terminated = new CountDownLatch(1);
  private @Nullable EventLoops loops;
  private @Nullable Channel listening;
  private volatile boolean shutdown;

  /** Calls are no longer waited for. */
  private volatile boolean closing;

  Http2Server(
      SocketAddress address,
      int threads,
      ServerSettings settings,
      List<ServerServiceDefinition> services) {
    this.address = address;
    this.threads = threads;
    this.settings = settings;
    this.services = List.copyOf(services);
    Context context = Context.ROOT.withValue(InternalServer.SERVER_CONTEXT_KEY, this);
    opener = new CallOpener(settings, context, () -> calls.get() > settings.limits().maxCalls());
  }

  @Override
  public synchronized Server start() throws IOException {
    if (loops != null) {
      throw new IllegalStateException("the server has been started");
    }
    EventLoops own = new EventLoops("grpc", threads, settings.failed());
    loops = own;
    ServerBootstrap bootstrap =
        own.bootstrap().option(ChannelOption.SO_BACKLOG, 1024).childHandler(new Accepted());
    listening = own.listen(bootstrap, address);
    return this;
  }

  /** Sets up the pipeline of an accepted socket. */
  private final class Accepted extends ChannelInitializer<SocketChannel> {
    @Override
    protected void initChannel(SocketChannel socket) {
      sockets.add(socket);
      socket.closeFuture().addListener(closed -> leave(socket));
      if (sockets.size() > settings.limits().maxConnections() || shutdown) {
        log.debug("{} is one connection too many", socket.remoteAddress());
        socket.close();
        return;
      }
      ConnectionMemory memory = memory(socket);
      if (memory == null) {
        log.debug("there is no memory for {}", socket.remoteAddress());
        socket.close();
        return;
      }
      socket.closeFuture().addListener(closed -> memory.close());
      settings.load().connectionOpened();
      socket.closeFuture().addListener(closed -> settings.load().connectionClosed());
      Supplier<SslContext> secured = settings.tls();
      if (secured == null) {
        socket.config().setRecvByteBufAllocator(new ReceiveBuffers());
        awaitHttp2(socket.pipeline(), memory);
        return;
      }
      SslHandler tls = secured.get().newHandler(socket.alloc());
      tls.setHandshakeTimeoutMillis(TimeUnit.NANOSECONDS.toMillis(settings.times().handshake()));
      socket.pipeline().addLast(tls, new Negotiated(memory));
    }
  }

  private @Nullable ConnectionMemory memory(SocketChannel socket) {
    return settings
        .memory()
        .open(
            socket.remoteAddress(),
            settings.tls() == null ? CONNECTION_BYTES : TLS_BYTES,
            () -> relieve(socket));
  }

  private static void relieve(SocketChannel socket) {
    try {
      socket
          .eventLoop()
          .execute(
              () -> {
                Connection connection = socket.pipeline().get(Connection.class);
                if (connection != null) { // the handshake has its own timeout
                  connection.relieve();
                }
              });
    } catch (RejectedExecutionException e) {
      log.debug("the server has stopped", e);
    }
  }

  private void awaitHttp2(ChannelPipeline pipeline, ConnectionMemory memory) {
    pipeline.addLast(
        new Preface(
            () ->
                pipeline.addLast(
                    new SmallWrites(),
                    new FrameCutter(),
                    ConnectionBuilder.connection(this, settings, memory)),
            settings.load(),
            settings.times().handshake()));
  }

  /** Continues when both sides have agreed on HTTP/2. */
  private final class Negotiated extends ApplicationProtocolNegotiationHandler {
    private final ConnectionMemory memory;

    Negotiated(ConnectionMemory memory) {
      super(ApplicationProtocolNames.HTTP_1_1);
      this.memory = memory;
    }

    @Override
    protected void configurePipeline(ChannelHandlerContext ctx, String protocol) {
      if (ApplicationProtocolNames.HTTP_2.equals(protocol)) {
        awaitHttp2(ctx.pipeline(), memory);
      } else {
        Preface.tell(ctx, settings.load());
      }
    }

    @Override
    protected void handshakeFailure(ChannelHandlerContext ctx, Throwable cause) {
      log.debug("no TLS with {}", ctx.channel().remoteAddress(), cause);
      TlsFailures.tell(ctx.channel().remoteAddress(), cause);
      if (cause.getCause() instanceof NotSslRecordException) {
        settings.load().otherProtocol();
      }
      ctx.close();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
      handshakeFailure(ctx, cause);
    }
  }

  @Override
  public void opened(Connection connection) {
    connections.add(connection);
    if (closing) {
      connection.closeNow();
    } else if (shutdown) {
      connection.drain("shutting down");
    }
  }

  @Override
  public void closed(Connection connection) {
    connections.remove(connection);
  }

  private void leave(Channel socket) {
    sockets.remove(socket);
    if (sockets.isEmpty() && shutdown) {
      terminate();
    }
  }

  private void terminate() {
    settings.inflating().close();
    EventLoops own = loops;
    if (own == null) {
      terminated.countDown();
      return;
    }
    own.stop(STOP_SECONDS).addListener(done -> terminated.countDown());
  }

  @Override
  public void streamOpened() {
    calls.incrementAndGet();
    settings.load().callOpened();
  }

  @Override
  public void streamClosed() {
    calls.decrementAndGet();
    settings.load().callClosed();
  }

  @Override
  public void open(ServerStream stream, Http2Headers headers, boolean endOfStream) {
    opener.open(stream, headers, endOfStream);
  }

  @Override
  public synchronized Server shutdown() {
    if (shutdown) {
      return this;
    }
    shutdown = true;
    if (loops != null && listening != null) {
      loops.endListening(listening).awaitUninterruptibly();
    }
    connections.forEach(connection -> connection.drain("shutting down"));
    for (Channel socket : sockets) {
      if (socket.pipeline().get(Preface.class) != null) {
        socket.close(); // no call was made
      }
    }
    if (sockets.isEmpty()) {
      terminate();
    }
    return this;
  }

  @Override
  public Server shutdownNow() {
    closing = true;
    shutdown();
    connections.forEach(Connection::closeNow);
    for (Channel socket : sockets) {
      if (socket.pipeline().get(Connection.class) == null) {
        socket.close(); // its handshake is not over
      }
    }
    return this;
  }

  @Override
  public boolean isShutdown() {
    return shutdown;
  }

  @Override
  public boolean isTerminated() {
    return terminated.getCount() == 0;
  }

  @Override
  public boolean awaitTermination(long timeout, TimeUnit unit) throws InterruptedException {
    return terminated.await(timeout, unit);
  }

  @Override
  public void awaitTermination() throws InterruptedException {
    terminated.await();
  }

  @Override
  public int getPort() {
    Channel bound = listening;
    return bound != null && bound.localAddress() instanceof InetSocketAddress known
        ? known.getPort()
        : -1;
  }

  @Override
  public List<? extends SocketAddress> getListenSockets() {
    Channel bound = listening;
    return bound == null ? List.of() : List.of(bound.localAddress());
  }

  @Override
  public List<ServerServiceDefinition> getServices() {
    return services;
  }

  @Override
  public List<ServerServiceDefinition> getImmutableServices() {
    return services;
  }

  @Override
  public List<ServerServiceDefinition> getMutableServices() {
    return List.of();
  }
}

package dev.roundhouse.transport.io;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandler;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerDomainSocketChannel;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerDomainSocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Future;
import java.io.IOException;
import java.net.BindException;
import java.net.SocketAddress;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The threads that serve a server's sockets, by epoll where available. Netty ends a loop on an
 * {@link Error} with only a log line; its sockets, perhaps the listening one, then hang forever. It
 * also closes a listening socket that fails in a way that it does not expect. Here the server is
 * told of both. Thread-safe.
 */
public final class EventLoops {
  private final Class<? extends ServerChannel> listener;
  private final Consumer<Throwable> ended;
  private final EventLoopGroup loops;

  /** Of the loops, what has their sockets. */
  private final List<Sockets> sockets = new CopyOnWriteArrayList<>();

  private final Set<Channel> listening = ConcurrentHashMap.newKeySet();
  private volatile boolean stopping;

  /**
   * @param name of the threads
   * @param ended called on a loop's thread when it ends without having been stopped, or when a
   *     socket listens no more that {@link #endListening} was not called for; with the reason if
   *     known
   */
  public EventLoops(String name, int threads, Consumer<Throwable> ended) {
    this(
        name,
        threads,
        ended,
        Epoll.isAvailable() ? EpollIoHandler.newFactory() : NioIoHandler.newFactory());
  }

  public EventLoops(String name, int threads, Consumer<Throwable> ended, IoHandlerFactory io) {
    this.ended = ended;
    listener = Epoll.isAvailable() ? EpollServerSocketChannel.class : NioServerSocketChannel.class;
    loops =
        new MultiThreadIoEventLoopGroup(
            threads,
            new Threads(name),
            loop -> {
              IoHandler made = io.newHandler(loop);
              sockets.add(new Sockets(loop, made));
              return made;
            });
  }

  private record Sockets(Executor loop, IoHandler handler) {
    void close() {
      try {
        loop.execute(handler::prepareToDestroy);
      } catch (RejectedExecutionException e) {
        // the loop has died
      }
    }
  }

  private final class Threads extends DefaultThreadFactory {
    Threads(String name) {
      super(name, true);
    }

    @Override
    public Thread newThread(Runnable loop) {
      return super.newThread(() -> watch(loop));
    }
  }

  private void watch(Runnable loop) {
    Throwable failure = null;
    try {
      loop.run();
    } catch (Throwable e) {
      failure = e;
    }
    if (!stopping) {
      ended.accept(new EventLoopEndedException(Thread.currentThread().getName(), failure));
    }
  }

  /**
   * Flushes a channel once its loop has handled everything that is ready. A peer that has many
   * channels is then woken once rather than for each. On the channel's event loop.
   */
  public static void flushAfterTurn(Channel channel) {
    try {
      channel.eventLoop().execute(channel::flush);
    } catch (Throwable e) { // the loop is stopping, or there is no memory for another task
      channel.flush();
    }
  }

  /** A bootstrap with the options common to all our servers. */
  public ServerBootstrap bootstrap() {
    return new ServerBootstrap()
        .group(loops)
        .channel(listener)
        .option(ChannelOption.SO_REUSEADDR, true)
        .childOption(ChannelOption.TCP_NODELAY, true)
        .childOption(ChannelOption.SO_KEEPALIVE, true)
        .childOption(ChannelOption.ALLOCATOR, PooledByteBufAllocator.DEFAULT);
  }

  /** The same for sockets in the file system. */
  public ServerBootstrap localBootstrap() {
    return new ServerBootstrap()
        .group(loops)
        .channel(
            Epoll.isAvailable()
                ? EpollServerDomainSocketChannel.class
                : NioServerDomainSocketChannel.class)
        .childOption(ChannelOption.ALLOCATOR, PooledByteBufAllocator.DEFAULT);
  }

  /**
   * Begins to listen, until {@link #endListening} or until the loops stop.
   *
   * @throws IOException when it cannot, caused by a {@link BindException} when another has the
   *     port; the loops then stop
   */
  public Channel listen(ServerBootstrap bootstrap, SocketAddress address) throws IOException {
    ChannelFuture binding;
    try {
      binding = bootstrap.bind(address).awaitUninterruptibly();
    } catch (RuntimeException e) { // a loop has died, and takes no task
      var unused = stop(0);
      throw new IOException("cannot listen on " + address, e);
    }
    if (!binding.isSuccess()) {
      var unused = stop(0);
      throw new IOException("cannot listen on " + address, portable(binding.cause()));
    }
    Channel bound = binding.channel();
    listening.add(bound);
    bound.closeFuture().addListener(closed -> onClosed(bound, address));
    return bound;
  }

  private void onClosed(Channel bound, SocketAddress address) {
    if (listening.remove(bound) && !stopping) {
      ended.accept(
          new IllegalStateException(
              "the socket that listens on " + address + " is closed; nobody can connect"));
    }
  }

  /** Closes a listening socket; done when it is closed. */
  public ChannelFuture endListening(Channel bound) {
    listening.remove(bound);
    return bound.close();
  }

  /** Native transports report a port in use differently from Java. */
  private static Throwable portable(Throwable failure) {
    String why = String.valueOf(failure.getMessage());
    if (!(failure instanceof BindException) && why.contains("Address already in use")) {
      BindException inUse = new BindException("Address already in use");
      inUse.initCause(failure);
      return inUse;
    }
    return failure;
  }

  /**
   * Waits until each loop has done what it was given before. A loop that stops closes its sockets
   * first, so what is still to be said on them must have been.
   *
   * @param nanos at most
   */
  public void awaitTurn(long nanos) throws InterruptedException {
    long end = System.nanoTime() + nanos;
    for (EventExecutor loop : loops) {
      try {
        var unused =
            loop.submit(() -> {}).await(Math.max(0, end - System.nanoTime()), TimeUnit.NANOSECONDS);
      } catch (RejectedExecutionException e) {
        // it has died, and does nothing more
      }
    }
  }

  /**
   * Stops the loops.
   *
   * @param seconds for pending tasks
   * @return done when all have ended
   */
  public Future<?> stop(int seconds) {
    stopping = true;
    // Netty does that too, but not where a loop learns in the middle of a turn that it stops.
    sockets.forEach(Sockets::close);
    return loops.shutdownGracefully(0, seconds, TimeUnit.SECONDS);
  }

  /** A thread that serves sockets is gone. */
  private static final class EventLoopEndedException extends RuntimeException {
    EventLoopEndedException(String thread, @Nullable Throwable cause) {
      super("the event loop '" + thread + "' has ended; its connections hang", cause);
    }
  }
}
